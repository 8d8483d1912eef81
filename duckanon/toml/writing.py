"""A parsed document as TOML again: what it says, without its comments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date, time
from decimal import Decimal
from typing import Any

Path = tuple[str, ...]  # of a table


def written(document: Mapping[str, Any]) -> str:
    """The text of a document; read again, it is the same document."""
    return "\n".join(_table((), document)) + "\n"


def dotted(path: Path) -> str:
    """A path as TOML names it."""
    return ".".join(map(_key, path))


def _table(path: Path, entries: Mapping[str, Any]) -> Iterator[str]:
    tables = {name: value for name, value in entries.items() if isinstance(value, Mapping)}
    plain = {name: value for name, value in entries.items() if name not in tables}
    if path and (plain or not tables):
        yield f"\n[{dotted(path)}]"
    yield from (f"{_key(name)} = {written_value(value)}" for name, value in plain.items())
    for name, inner in tables.items():
        yield from _table((*path, name), inner)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def written_value(value: Any) -> str:
    """A value as it stands behind its key."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(name)} = {written_value(inner)}' for name, inner in value.items())} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(written_value, value))}]"
    if isinstance(value, (date, time)):  # a moment is a date, too
        return value.isoformat()
    return _number(value) if isinstance(value, Decimal) else str(value)


def _number(value: Decimal) -> str:
    """With a point or an exponent: without one it would be a whole number, which is something else to some keys."""
    if not value.is_finite():
        return str(value).lower().replace("infinity", "inf")
    text = str(value)
    return text if re.search("[.E]", text) else f"{text}.0"


def _text(text: str) -> str:
    """JSON escapes what TOML does, but for the last of the control characters."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
