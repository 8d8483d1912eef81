"""Spark's types, as types of ours; those that have no like here are released as the texts they are written as."""

from __future__ import annotations

import re

from duckanon.engine.types import Family, Type

_FAMILIES = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), Family.WHOLE),
    **dict.fromkeys(("float", "double"), Family.FLOAT),
    "string": Family.TEXT,
    "date": Family.DATE,
    **dict.fromkeys(("timestamp", "timestamp_ntz"), Family.MOMENT),
    "boolean": Family.BOOLEAN,
}
_ONE_TEXT = ("tinyint", "smallint", "int", "bigint", "string", "date", "timestamp_ntz", "boolean")
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_PADDED = re.compile(r"(?:var)?char\(\d+\)")
_TIME = re.compile(r"time\(\d\)")
_LIST = re.compile(r"array<(.+)>")
_RECORD = re.compile(r"struct<(.+)>")
_INTERVAL = re.compile(r"interval (?:year|month|day|hour|minute|second)(?: to (?:month|hour|minute|second))?")
# Of floats -0.0 equals 0.0 and looks different, which inside of a list nobody mends.
_LISTED = tuple(word for word, family in _FAMILIES.items() if family is not Family.FLOAT)


def type_of(word: str) -> Type:
    """What the values are, by Spark's own word: that of `DESCRIBE`. Not comparable is what it has no equality for, or
    one by which values that look different are equal: binary, maps, variants, collations, intervals without fields."""
    if word in _FAMILIES:
        return _typed(_FAMILIES[word], word, zoned=word == "timestamp", one_text=word in _ONE_TEXT)
    if decimal := _DECIMAL.fullmatch(word):
        return _typed(Family.DECIMAL, word, scale=int(decimal[2]), one_text=True)
    if _PADDED.fullmatch(word):
        return _typed(Family.TEXT, word, plain="string", one_text=True)
    if _TIME.fullmatch(word):
        return _typed(Family.TIME_OF_DAY, word, plain="string")
    if listed := _LIST.fullmatch(word):
        return _typed(Family.LIST, word, comparable=_is_plain(listed[1]), declared=None)
    if record := _RECORD.fullmatch(word):
        fields = [field.partition(":") for field in re.split(r",(?!\d+\))", record[1])]
        plain = all(re.fullmatch(r"\w+", name) and _is_plain(inner) for name, _, inner in fields)
        return _typed(Family.RECORD, word, comparable=plain, declared=None)
    if _INTERVAL.fullmatch(word):
        return _typed(Family.OTHER, word, plain="string")
    family = Family.TEXT if word.startswith("string collate ") else Family.OTHER
    return _typed(family, word, comparable=word == "string collate UTF8_BINARY", declared=None)


def _is_plain(word: str) -> bool:
    return word in _LISTED or _DECIMAL.fullmatch(word) is not None


def _typed(family: Family, word: str, plain: str | None = None, **known: object) -> Type:
    """Single values can be read from their texts."""
    known = {"declared": plain or word} | known
    return Type(family, word, plain=plain, dialect="spark", **known)  # type: ignore[arg-type]
