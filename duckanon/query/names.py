"""Names as SQL spells them."""

from __future__ import annotations

import re
from collections.abc import Iterable

PART = r'"(?:[^"]|"")+"|[^\W\d][\w$]*'
_FOLD = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_QUALIFIED = re.compile(rf"(?:{PART})(?:\.(?:{PART}))*")


def split_name(spelled: str) -> list[str] | None:
    """The parts of a possibly qualified and quoted name; None when it is not spelled as in SQL."""
    if not _QUALIFIED.fullmatch(spelled):
        return None
    return [unquoted(part) for part in re.findall(PART, spelled)]


def folded(name: str) -> str:
    """The name as the catalog compares it: only the letters A to Z have a case there."""
    return name.translate(_FOLD)


def free_name(name: str, taken: Iterable[str]) -> str:
    """The name, or one like it, that none of those taken is."""
    known = set(map(folded, taken))
    while folded(name) in known:
        name += "_"
    return name


def quoted(*parts: str) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def quoted_if_odd(*parts: str) -> str:
    """As a person would write it: quoted only where SQL wants it so."""
    return ".".join(part if re.fullmatch(r"[a-z_]\w*", part) else quoted(part) for part in parts)


def unquoted(part: str) -> str:
    return part[1:-1].replace('""', '"') if part.startswith('"') else part
