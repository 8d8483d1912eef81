"""What can be set on the page: the level of each quasi-identifier, numbers of the policy, the method."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from duckanon.census.counting import Census
from duckanon.errors import Fault, UsageError
from duckanon.models.k_anonymity import MODEL as K_ANONYMITY
from duckanon.models.registry import column_keys, size_models, value_keys
from duckanon.policy import Policy
from duckanon.policy.load import parse_policy
from duckanon.policy.overrides import SHORT, Override, given
from duckanon.search.given import given_node
from duckanon.search.lattice import Node
from duckanon.toml.writing import dotted, written_value

_LONGEST = 100  # characters of a number
_NO_NUMBERS = ("levels", "sensitivity")  # of a sensitive column or value: no thresholds


@dataclass(frozen=True)
class Field:
    """A number of the policy that can be set: its key, and the text that the policy has for it."""

    key: tuple[str, ...]
    name: str
    text: str
    meaning: str


@dataclass(frozen=True)
class Setting:
    """What is set: a node, a text for each field, and the method."""

    levels: Node
    texts: tuple[str, ...]
    method: str


def fields_of(policy: Policy) -> tuple[Field, ...]:
    """k, the budget, and every threshold that the policy has: the census was counted for these, and no others."""
    document = tomllib.loads(policy.text, parse_float=Decimal)
    fields = [
        Field(SHORT["--k"], "k", str(policy.k), K_ANONYMITY.key.meaning),
        Field(SHORT["--suppression"], "budget", str(policy.suppression), "rows that may be suppressed, or their share"),
    ]
    asked = document.get("privacy", {})
    for key in (model.key for model in size_models() if model.key.name in asked):
        for path, value in _numbers((key.name,), asked[key.name]):
            fields.append(Field(("privacy", *path), " ".join(path), written_value(value), key.meanings[".".join(path)]))
    meanings = {name: meaning for _, key in (*value_keys(), *column_keys()) for name, meaning in key.meanings.items()}
    for column, thresholds in document.get("sensitive", {}).items():
        for path, value in _numbers((), thresholds):
            meaning = meanings.get(".".join(path[2:] if path[0] == "values" else path)) or meanings.get(path[0], "")
            fields.append(Field(("sensitive", column, *path), _name(column, path), written_value(value), meaning))
    return tuple(fields)


def _numbers(path: tuple[str, ...], inner: Any) -> Iterator[tuple[tuple[str, ...], int | Decimal]]:
    if isinstance(inner, Mapping):
        for name, value in inner.items():
            if name not in _NO_NUMBERS or path[-1:] == ("values",):
                yield from _numbers((*path, name), value)
    elif isinstance(inner, (int, Decimal)) and not isinstance(inner, bool):
        yield path, inner


def _name(column: str, path: tuple[str, ...]) -> str:
    if path[0] == "values" and len(path) > 2:
        return f"{' '.join(path[2:])} of {column} “{path[1]}”"
    return f"{' '.join(path)} of {column}"


def read_setting(document: Any, fields: tuple[Field, ...], census: Census) -> Setting:
    """What the page has sent. Of its words nothing is believed."""
    levels, texts, method = (_part(document, name) for name in ("levels", "texts", "method"))
    named = [h.column.name for h in census.hierarchies]
    if not (isinstance(levels, list) and len(levels) == len(named) and all(type(level) is int for level in levels)):
        raise _misread("levels")
    if not (isinstance(texts, list) and len(texts) == len(fields) and all(map(_is_short, texts))):
        raise _misread("texts")
    if not _is_short(method):
        raise _misread("method")
    node = given_node(dict(zip(named, levels, strict=True)), census)
    return Setting(node, tuple(text.strip() for text in texts), method)


def _part(document: Any, name: str) -> Any:
    return document.get(name) if isinstance(document, dict) else None


def _is_short(text: Any) -> bool:
    return isinstance(text, str) and 0 < len(text.strip()) <= _LONGEST


def _misread(name: str) -> UsageError:
    return UsageError([Fault(name, "is empty, or not what the page sends", "fill it in, or load the page again")])


def changes(setting: Setting, policy: Policy, fields: tuple[Field, ...]) -> tuple[Override, ...]:
    """What differs from the policy, as overrides that are called as the page calls them."""
    changed = [(field, text) for field, text in zip(fields, setting.texts, strict=True) if text != field.text]
    found = []
    for field, text in changed:
        (override,) = given({}, [f"{dotted(field.key)}={text}"])
        found.append(replace(override, said=field.name))
    if setting.method != policy.search.method:
        found.append(Override(SHORT["--method"], setting.method, "method"))
    return tuple(found)


def policy_at(setting: Setting, policy: Policy, fields: tuple[Field, ...]) -> Policy:
    """The policy with what is set, but for the levels."""
    changed = changes(setting, policy, fields)
    return parse_policy(policy.text, policy.folder, policy.file, changed) if changed else policy
