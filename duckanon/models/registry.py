"""Every privacy model there is: what a module of this package names as MODEL, or several as MODELS.

The other rooms go over this list and know no model by its name, but for k, which every policy asks for; only the
clusterings of a paper know its thresholds.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

from duckanon import models
from duckanon.errors import Fault, PolicyError
from duckanon.models.column_steps import MOST_OWN
from duckanon.models.keys import Key, LevelKey, ThresholdKey
from duckanon.models.model import ClassModel, ColumnModel, Model, SizeModel, TableModel
from duckanon.models.rules import ClassRule, Constraint, SizeRule, TableRule, TotalRule
from duckanon.models.wanted import Wanted, own_thresholds


@cache
def every_model() -> tuple[Model, ...]:
    """In the order in which they are told."""
    found: list[Model] = []
    for module in pkgutil.iter_modules(models.__path__, f"{models.__name__}."):
        named = vars(import_module(module.name))
        found += named.get("MODELS", ()) or ([named["MODEL"]] if "MODEL" in named else [])
    return tuple(sorted(found, key=lambda model: (model.order, model.name)))


@cache
def size_models() -> tuple[SizeModel, ...]:
    return tuple(model for model in every_model() if isinstance(model, SizeModel))


def sizes_asked(thresholds: Mapping[str, Any]) -> list[tuple[SizeModel, Any]]:
    """The models that a policy asks of the sizes of classes, with the threshold of each. Raises PolicyError for a
    threshold that no model claims."""
    found = [(model, thresholds[model.key.name]) for model in size_models() if model.key.name in thresholds]
    unclaimed = set(thresholds) - {model.key.name for model, _ in found}
    if unclaimed:
        raise PolicyError([_unclaimed(f"privacy.{key}") for key in sorted(unclaimed)])
    return found


def size_rules(thresholds: Mapping[str, Any]) -> tuple[SizeRule, ...]:
    """How every class is judged by its size."""
    rules = (rule for model, asked in sizes_asked(thresholds) for rule in model.rules(asked))
    return tuple(rule for rule in rules if isinstance(rule, SizeRule))


def total_rules(thresholds: Mapping[str, Any]) -> tuple[TotalRule, ...]:
    """How all classes together are."""
    rules = (rule for model, asked in sizes_asked(thresholds) for rule in model.rules(asked))
    return tuple(rule for rule in rules if isinstance(rule, TotalRule))


@cache
def column_models() -> tuple[ColumnModel, ...]:
    return tuple(model for model in every_model() if isinstance(model, ColumnModel))


@cache
def column_keys() -> tuple[tuple[ColumnModel, ThresholdKey], ...]:
    """The keys of a sensitive column, each with its model: as they are read. Those about levels come last, and of them
    first what is said of each level."""
    keyed = [(model, model.key) for model in column_models() if model.key is not None]
    keyed.sort(key=lambda pair: (pair[0].needs_levels, not isinstance(pair[1], LevelKey)))
    return tuple(keyed)


@cache
def value_keys() -> tuple[tuple[ColumnModel, Key], ...]:
    """The keys of a single value. Those that take the place of the column's come first."""
    keyed = [(model, model.value_key) for model in column_models() if model.value_key is not None]
    keyed.sort(key=lambda pair: pair[0].key is None)
    return tuple(keyed)


def models_of(wanted: Wanted) -> list[ColumnModel]:
    """The models that the policy asks of a sensitive column."""
    return [model for model in column_models() if any(True for _ in model.thresholds(wanted))]


def asked(wanted: Wanted) -> list[tuple[ColumnModel, Constraint]]:
    """What the thresholds of a sensitive column ask for: of every class, then of the whole table. Raises PolicyError
    for a threshold that no model claims: nobody would see to it."""
    unclaimed = dict.fromkeys(_thresholds(wanted))
    found: list[tuple[ColumnModel, Constraint]] = []
    for model in sorted(column_models(), key=lambda model: isinstance(model, TableModel)):
        for value, threshold in model.thresholds(wanted):
            constraints = list(model.constraints(wanted.column, value, threshold))
            found += [(model, constraint) for constraint in constraints]
            key = model.key if value is None else model.value_key
            if key is not None and constraints:
                unclaimed.pop((value, key.name), None)
    if unclaimed:
        raise PolicyError([_unknown(wanted, value, key) for value, key in unclaimed])
    return found


def class_rules(wanted: Wanted, numeric: bool) -> tuple[ClassRule, ...]:
    """How every class is judged by what is asked of a sensitive column, where rows are counted. Hundreds of thresholds
    of single values are rows of a table, and one figure of a class."""
    judging = [(model, constraint) for model, constraint in asked(wanted) if isinstance(model, ClassModel)]
    own = {model: own_thresholds(wanted, model.value_key.name) for model, _ in judging if model.value_key is not None}
    if sum(map(len, own.values())) <= MOST_OWN:
        return single_rules(wanted, numeric)
    many = {model: rule for model, named in own.items() if (rule := model.together(wanted.column, named)) is not None}
    single = single_rules(wanted, numeric, lambda model, constraint: constraint.value is None or model not in many)
    return (*single, *many.values())


def single_rules(
    wanted: Wanted, numeric: bool, among: Callable[[ClassModel, Constraint], bool] = lambda *_: True
) -> tuple[ClassRule, ...]:
    """The same with a rule for each constraint: for all, or those `among` which it is."""
    found = []
    for model, constraint in asked(wanted):
        if isinstance(model, ClassModel) and among(model, constraint):
            rule = model.rule(constraint, wanted, numeric)
            found.append(replace(rule, lasting=model.lasting(rule, wanted)))
    return tuple(found)


def least_size(wanted: Wanted) -> int:
    """Rows without which no class holds what is asked of a sensitive column."""
    return max((m.least_size(wanted) for m in models_of(wanted) if isinstance(m, ClassModel)), default=1)


def table_rules(wanted: Wanted) -> tuple[TableRule, ...]:
    """How the whole table is."""
    return tuple(m.rule(constraint, wanted) for m, constraint in asked(wanted) if isinstance(m, TableModel))


def _thresholds(wanted: Wanted) -> Iterator[tuple[str | None, str]]:
    """Every threshold of a sensitive column: the value that it is of (None: the column's), and its key."""
    yield from ((None, key) for key in wanted.thresholds)
    yield from ((value, key) for value, own in wanted.values.items() for key in own.thresholds)


def _unknown(wanted: Wanted, value: str | None, key: str) -> Fault:
    where = f"sensitive.{wanted.column}" if value is None else f"sensitive.{wanted.column}.values.{value}"
    return _unclaimed(f"{where}.{key}")


def _unclaimed(where: str) -> Fault:
    remedy = "leave it out: nothing would see to it, and nothing would verify it"
    return Fault(where, "is asked for, and no privacy model knows it", remedy)
