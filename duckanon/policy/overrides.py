"""Keys of a policy that are set for one run: they change what the file says before anything of it is checked."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from duckanon.errors import Fault, FaultsError, UsageError
from duckanon.toml.checks import a_table
from duckanon.toml.writing import dotted, written

# The words of a command for the keys that are set most often.
SHORT = {
    "--k": ("privacy", "k"),
    "--suppression": ("privacy", "suppression"),
    "--method": ("search", "method"),
}


@dataclass(frozen=True)
class Override:
    """One key and its value. A message names it as it was asked for, without the value: that may be an address with a
    password."""

    key: tuple[str, ...]
    value: Any
    said: str

    @property
    def where(self) -> str:
        """The key as faults spell it."""
        return ".".join(self.key)


# -- how they are asked for ---------------------------------------------------------------------------


def given(short: Mapping[str, str | None], texts: Iterable[str]) -> tuple[Override, ...]:
    """Those of a command: `--k 5` and the like, and any key by `--set key=value`."""
    found = [Override(SHORT[word], _value(word, text), word) for word, text in short.items() if text is not None]
    return _each_once([*found, *map(_parted, texts)])


def values(word: str, text: str | None) -> list[Any]:
    """Several values for one key, to be compared: `--k 3,5,10`."""
    return [] if text is None else [_value(word, part) for part in text.split(",")]


def by_name(values: Mapping[str, Any]) -> tuple[Override, ...]:
    """Those of a program: any value by the dotted name of its key."""
    for name in values:
        if not _is_key(name):
            raise UsageError([Fault("overrides", f"'{name}' is no key of a policy", "such as sensitive.diagnosis.l")])
    return _each_once([Override(_key(name), exact(value), f"override {name}") for name, value in values.items()])


def _parted(text: str) -> Override:
    """`key=value`: the key ends at the first = that is not within quotes."""
    for at in (at for at, character in enumerate(text) if character == "="):
        name = text[:at].strip()
        if _is_key(name):
            key = _key(name)
            said = f"--set {dotted(key)}"
            return Override(key, _value(said, text[at + 1 :]), said)
    raise UsageError([Fault("--set", f"'{text.partition('=')[0]}' is no key with a value", _EXAMPLE)])


_EXAMPLE = "write KEY=VALUE as in a policy, such as sensitive.diagnosis.l=2"


def _is_key(name: str) -> bool:
    try:
        return "\n" not in name and len(tomllib.loads(f"{name} = 0")) == 1
    except tomllib.TOMLDecodeError:
        return False


def _key(name: str) -> tuple[str, ...]:
    path, inner = list[str](), tomllib.loads(f"{name} = 0")
    while inner:
        ((part, inner),) = inner.items()
        path.append(part)
    return tuple(path)


def _value(said: str, text: str) -> Any:
    """As TOML has it; a word that is no TOML is a text."""
    text = text.strip()
    if not text:
        raise UsageError([Fault(said, "has no value", 'an empty text is ""')])
    try:
        document = tomllib.loads(f"value = {text}", parse_float=Decimal)
    except (tomllib.TOMLDecodeError, RecursionError, ArithmeticError) as error:
        if text[0] in "\"'[{":
            raise UsageError([Fault(said, f"its value cannot be parsed: {error}")]) from None
        return text
    if len(document) > 1:
        raise UsageError([Fault(said, "has more than one value", "give each key an option of its own")])
    return document["value"]


def exact(value: Any) -> Any:
    """Numbers as they are written: 0.1 means a tenth."""
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, Mapping):
        return {str(name): exact(inner) for name, inner in value.items()}
    return [exact(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def _each_once(overrides: list[Override]) -> tuple[Override, ...]:
    keys = [override.key for override in overrides]
    if again := [override for at, override in enumerate(overrides) if override.key in keys[:at]]:
        raise UsageError([Fault(override.said, f"{override.where} is set twice") for override in again])
    return tuple(overrides)


# -- what they do -------------------------------------------------------------------------------------


def overridden(document: Mapping[str, Any], overrides: Iterable[Override]) -> dict[str, Any]:
    """The document with these keys set."""
    changed = deepcopy(dict(document))
    for override in overrides:
        *path, last = override.key
        place = changed
        for at, part in enumerate(path):
            place = place.setdefault(part, {})
            if problem := a_table(place):
                raise UsageError([Fault(override.said, f"{'.'.join(path[: at + 1])} {problem}")])
        place[last] = override.value
    return changed


def text_with(document: Mapping[str, Any], overrides: Iterable[Override]) -> str:
    """The text of a document with overrides, for the ledger to keep: the file's own would be of another policy."""
    return f"# as it was run, with {_said(overrides)}; without the comments of its file\n{written(document)}"


# -- what is wrong with them --------------------------------------------------------------------------


def named(error: FaultsError, overrides: tuple[Override, ...], of_file: Iterable[Fault] | None = None) -> FaultsError:
    """The error with the faults of overrides named after these, not after the file. `of_file`: the faults that it has
    without them, where that is known; what is not among these is due to the overrides, wherever it shows."""
    faults = [_named(fault, overrides, of_file) for fault in error.faults]
    theirs = all(mine is not fault for mine, fault in zip(faults, error.faults, strict=True))
    return type(error)(faults, None if theirs else error.file)


def _named(fault: Fault, overrides: tuple[Override, ...], of_file: Iterable[Fault] | None) -> Fault:
    where = fault.where.replace(": ", ".")  # of a name in a list, or of a column that is not there
    for override in overrides:
        if _is_within(where, override.where):
            return replace(fault, where=override.said + fault.where[len(override.where) :])
    if fault in (of_file or ()):
        return fault
    around = [override for override in overrides if "." in where and _is_within(override.where, where)]
    if around:
        return replace(fault, where=_said(around))
    return fault if of_file is None else replace(fault, where=f"{_said(overrides)}: {fault.where}")


def _is_within(inner: str, outer: str) -> bool:
    return inner == outer or inner.startswith(f"{outer}.")


def _said(overrides: Iterable[Override]) -> str:
    return ", ".join(override.said for override in overrides)
