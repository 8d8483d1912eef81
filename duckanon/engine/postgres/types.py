"""PostgreSQL's types, as types of ours; those that have no like here are released as the texts they are written as."""

from __future__ import annotations

import re
from dataclasses import dataclass

from duckanon.engine.types import Family, Type

_FAMILIES = {
    **dict.fromkeys(("int2", "int4", "int8"), Family.WHOLE),
    **dict.fromkeys(("float4", "float8"), Family.FLOAT),
    **dict.fromkeys(("text", "varchar"), Family.TEXT),
    "date": Family.DATE,
    **dict.fromkeys(("timestamp", "timestamptz"), Family.MOMENT),
    "time": Family.TIME_OF_DAY,
    "bool": Family.BOOLEAN,
    "uuid": Family.OTHER,
}
# Texts, too, but for blanks at their end or a length that the type says.
_TEXTS = ("bpchar", "name")
_ONE_TEXT = ("int2", "int4", "int8", "text", "varchar", "bool", "date", "timestamp", "uuid")
_CAST = "cast it in source.query"
# Of types that are released as texts, those that no setting changes; not so interval, bytea, money, ranges of days, …
_STEADY = (
    *("char", "json", "jsonb", "xml", "inet", "cidr", "macaddr", "macaddr8", "bit", "varbit", "timetz"),
    *("int4range", "int8range", "int4multirange", "int8multirange"),
)
# By DateStyle and extra_float_digits, which everybody may set.
_VARYING = (Family.FLOAT, Family.DATE, Family.MOMENT)
_MOST_DIGITS = 38
_SCALED = re.compile(r"numeric\((\d+),(\d+)\)")


@dataclass(frozen=True)
class CatalogType:
    """A type as the catalog has it; of a domain, that which it is made of."""

    name: str  # typname
    word: str  # format_type
    kind: str  # typtype: b a base type, e an enumeration, c a composite, …
    element: str | None  # typname of the elements, if it is an array
    deterministic: bool  # whether its collation tells texts apart that look different
    of_ones_own: bool = False  # whether the column is of a domain, or has a collation that its type has not


def type_of(found: CatalogType) -> Type:
    """What the values are. `plain` is what a release shows of them."""
    if found.kind == "e":
        return _typed(Family.ENUMERATION, found.word, plain="text")
    if found.element is not None:
        # Of how many dimensions, the type does not say.
        return _typed(Family.LIST, found.word, plain="text", text_varies=True)
    if found.name == "numeric":
        return _numeric(found)
    if found.name == "oid":
        return _typed(Family.WHOLE, found.word, plain="bigint", one_text=True)  # there is no arithmetic of it
    if found.kind not in ("b", "r", "m"):
        return _typed(Family.OTHER, found.word, comparable=False)
    if found.name == "citext":
        return _typed(Family.TEXT, found.word, comparable=False, remedy=f"{_CAST}: CAST(column AS text)")
    if not found.deterministic:
        word = f"{found.word} with a collation by which texts that look different are equal"
        return _typed(Family.TEXT, word, comparable=False, remedy=f'{_CAST}: column COLLATE "C"')
    if found.name in _TEXTS:
        return _typed(Family.TEXT, found.word, plain="text", one_text=True)
    if found.name not in _FAMILIES:  # json, inet, ranges, bytes, times with a zone, …
        return _typed(Family.OTHER, found.word, plain="text", text_varies=found.name not in _STEADY)
    family, zoned = _FAMILIES[found.name], found.name == "timestamptz"
    word, varies = "text" if family is Family.TEXT else found.word, family in _VARYING
    one_text = found.name in _ONE_TEXT
    return _typed(family, word, zoned=zoned, text_varies=varies, one_text=one_text, declared=_declared(found))


def _numeric(found: CatalogType) -> Type:
    """With a scale it is a decimal; without one, values that look different are equal, and it is shown as a float."""
    scaled = _SCALED.fullmatch(found.word)
    if scaled and int(scaled[2]) <= int(scaled[1]) <= _MOST_DIGITS:
        return _typed(Family.DECIMAL, found.word, scale=int(scaled[2]), one_text=True, declared=_declared(found))
    return _typed(Family.FLOAT, found.word, plain="double precision", text_varies=True)


def _declared(found: CatalogType) -> str | None:
    return None if found.of_ones_own else found.word


def _typed(family: Family, word: str, plain: str | None = None, **known: object) -> Type:
    known = {"declared": plain} | known
    return Type(family, word, plain=plain, dialect="postgres", **known)  # type: ignore[arg-type]
