"""The sensitive columns of a policy file and their thresholds."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from duckanon.policy import Proximity, Recursive, Sensitive, ValueThresholds
from duckanon.toml import Section
from duckanon.toml.checks import a_table, number, one_of, share, whole

_DIF = number(least=0, most=1)


def read_sensitive(column: str, section: Section) -> Sensitive:
    sensitive = Sensitive(
        column=column,
        l=section.get("l", whole(1)),
        entropy_l=_float(section.get("entropy_l", number(least=1))),
        recursive=_recursive(section),
        t=_float(section.get("t", number(least=0, most=1))),
        alpha=_float(section.get("alpha", share)),
        alp=_float(section.get("alp", share)),
        dif=_float(section.get("dif", _DIF)),
        proximity=_proximity(section),
        publish=section.get("publish", one_of("value", "level"), "value"),
        levels=_levels(section),
        level_alpha=_level_alpha(section),
        level_l=section.get("level_l", whole(1)),
        level_weight=_float(section.get("level_weight", number(least=0))),
        values={value: _value(inner) for value, inner in section.sections("values")},
    )
    section.finish()
    _consistent(sensitive, section)
    return sensitive


def _consistent(sensitive: Sensitive, section: Section) -> None:
    if sensitive.needs_levels and not sensitive.levels:
        section.fault(
            "levels", "is missing", "level_alpha, level_l, level_weight and publish need the values of each level"
        )
    for level in sensitive.level_alpha:
        if level not in sensitive.levels:
            section.fault(f"level_alpha.{level}", "names a level that 'levels' does not have")
    if sensitive.publish == "level":
        # The value itself is not released, so nothing could verify a bound on it.
        if sensitive.values:
            section.fault("values", "cannot be bounded when the level is published", "bound its level: level_alpha")
        if sensitive.proximity:
            section.fault("proximity", "cannot be measured when the level is published")


def _value(section: Section) -> ValueThresholds:
    thresholds = ValueThresholds(
        alpha=_float(section.get("alpha", share)),
        alp=_float(section.get("alp", share)),
        dif=_float(section.get("dif", _DIF)),
        l=section.get("l", whole(1)),
        sensitivity=_float(section.get("sensitivity", number(least=0, most=1))),
    )
    section.finish()
    return thresholds


def _recursive(section: Section) -> Recursive | None:
    if section.get("recursive", a_table) is None:
        return None
    inner = section.section("recursive")
    c = float(inner.get("c", number(above=0), 1, required="recursive = { c = 3.0, l = 2 }"))
    l = inner.get("l", whole(2), 2, required="recursive = { c = 3.0, l = 2 }")  # noqa: E741
    inner.finish()
    return Recursive(c, l)


def _proximity(section: Section) -> Proximity | None:
    if section.get("proximity", a_table) is None:
        return None
    inner = section.section("proximity")
    epsilon = float(inner.get("epsilon", number(least=0), 0, required="proximity = { epsilon = 500, m = 3 }"))
    m = inner.get("m", whole(1), 1, required="proximity = { epsilon = 500, m = 3 }")
    inner.finish()
    return Proximity(epsilon, m)


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


def _level_alpha(section: Section) -> dict[int, float]:
    inner = section.section("level_alpha")
    bounds: dict[int, float] = {}
    for key in inner.data:
        bound = inner.get(key, share)
        if not _is_level(key):
            inner.fault(key, "must be the number of a level")
        elif bound is not None:
            bounds[int(key)] = float(bound)
    return bounds


def _levels_table(value: Any) -> str | None:
    good = isinstance(value, dict) and all(
        _is_level(key) and isinstance(items, list) and items and all(map(_is_scalar, items))
        for key, items in value.items()
    )
    return None if good else 'must give each level its values: { 1 = ["AIDS"], 2 = ["flu"] }'


def _is_level(key: str) -> bool:
    """A level is written in one way only: 1, not 01."""
    return key.isascii() and key.isdigit() and len(key) <= 6 and key == str(int(key))


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (str, int, bool, Decimal))


def _as_text(value: Any) -> str:
    """The text form by which a value of the data is matched."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _float(value: Any) -> float | None:
    return None if value is None else float(value)
