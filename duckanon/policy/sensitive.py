"""The sensitive columns of a policy file and their thresholds."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

from duckanon.models import Numbers
from duckanon.models.keys import is_level
from duckanon.models.registry import column_keys, models_of, value_keys
from duckanon.policy import HierarchySpec, Sensitive, ValueThresholds
from duckanon.policy.hierarchy import read_hierarchy
from duckanon.toml import Section
from duckanon.toml.checks import number, one_of


def read_sensitive(column: str, section: Section, folder: Path) -> Sensitive:
    thresholds = _thresholds(section, of_levels=False)
    publish = section.get("publish", one_of("value", "level"), "value")
    levels = _levels(section)
    thresholds |= _thresholds(section, of_levels=True)
    values = {value: _value(inner) for value, inner in section.sections("values")}
    section.finish()
    sensitive = Sensitive(column, thresholds, publish, levels, values, _hierarchy(section, folder))
    _consistent(sensitive, section)
    return sensitive


def _hierarchy(section: Section, folder: Path) -> HierarchySpec | None:
    """That of the values, where t is to be measured by it."""
    t = section.data.get("t")
    if not isinstance(t, dict) or "hierarchy" not in t:
        return None
    return read_hierarchy(Section(t, section.key("t"), section.faults), folder)


def _thresholds(section: Section, of_levels: bool) -> dict[str, Any]:
    """What the column asks for, by key: of its values, or of their levels."""
    read = {key.name: key.read(section) for model, key in column_keys() if model.needs_levels == of_levels}
    return {name: threshold for name, threshold in read.items() if threshold is not None}


def _consistent(sensitive: Sensitive, section: Section) -> None:
    if sensitive.needs_levels and not sensitive.levels:
        asking = sorted(key.name for model, key in column_keys() if model.needs_levels)
        section.fault("levels", "is missing", f"{', '.join(asking)} and publish need the values of each level")
    models = models_of(sensitive)
    for model in models:
        model.must_fit(sensitive, section)
    if sensitive.publish != "level":
        return
    # The value itself is not released, so nothing could verify a bound on it.
    if sensitive.hierarchy is not None:
        section.fault("t.hierarchy", "is of values, and the level is published", "leave it out: levels are in order")
    if sensitive.values:
        section.fault("values", "cannot be bounded when the level is published", "bound its level: level_alpha")
    for model in models:
        if model.numbers is Numbers.NEEDED:
            section.fault(model.written, "cannot be measured when the level is published")


def _value(section: Section) -> ValueThresholds:
    read = {key.name: key.read(section) for _, key in value_keys()}
    sensitivity = section.get("sensitivity", number(least=0, most=1))
    section.finish()
    thresholds = {name: threshold for name, threshold in read.items() if threshold is not None}
    return ValueThresholds(thresholds, None if sensitivity is None else float(sensitivity))


def _levels(section: Section) -> dict[int, tuple[str, ...]]:
    levels: dict[int, tuple[str, ...]] = {}
    home: dict[str, int] = {}
    for key, values in section.get("levels", _levels_table, {}).items():
        level = int(key)
        levels[level] = tuple(_as_text(value) for value in values)
        for value in levels[level]:
            if home.setdefault(value, level) != level:
                section.fault("levels", f"puts one value in level {home[value]} and in level {level}")
    return dict(sorted(levels.items()))


def _levels_table(value: Any) -> str | None:
    good = isinstance(value, dict) and all(
        is_level(key) and isinstance(items, list) and items and all(map(_is_scalar, items))
        for key, items in value.items()
    )
    return None if good else 'must give each level its values: { 1 = ["AIDS"], 2 = ["flu"] }'


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (str, int, bool, Decimal))


def _as_text(value: Any) -> str:
    """The text form by which a value of the data is matched."""
    return str(value).lower() if isinstance(value, bool) else str(value)
