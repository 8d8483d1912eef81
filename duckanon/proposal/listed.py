"""Hierarchies that are lists: a ready-made one where most values match, or a skeleton by frequency. They hold what at
least k rows share, and what is public anyhow."""

from __future__ import annotations

import csv
import io
import unicodedata
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from duckanon import resources
from duckanon.proposal.columns import ColumnProfile
from duckanon.proposal.names import words_of

TODO = "TODO"
TOP = "*"
_MOST = 0.6  # of the rows must have a value that a ready-made hierarchy knows
_LONGEST = 1_000  # values that a skeleton lists
_OFTEN = (0.01, 0.05)  # shares of the rows from which on a value stands for itself, level by level

_TOGETHER = 0.35  # of the rows at most have a value that stands with others


@dataclass(frozen=True)
class ListedHierarchy:
    """The rows of a file."""

    rows: tuple[tuple[str, ...], ...]
    why: str
    builtin: str | None = None  # the ready-made one that needs no file

    @property
    def text(self) -> str:
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\n")
        writer.writerow([f"level_{level}" for level in range(len(self.rows[0]))])
        writer.writerows(self.rows)
        return written.getvalue()


def ready_made(profile: ColumnProfile) -> ListedHierarchy | None:
    """The ready-made hierarchy that knows most of the values, once case, accents, signs and blanks are put aside."""
    shared = dict(profile.shared)
    best: tuple[int, str] = (0, "")
    for name in resources.builtin_hierarchies():
        known = _known(name)
        best = max(best, (sum(n for value, n in shared.items() if _plain(value) in known), name))
    matched, name = best
    if not matched or matched < _MOST * profile.counts.filled or not _may_be(name, profile):
        return None
    rows = _read(name)
    exact, known = {row[0] for row in rows}, _known(name)
    if all(value in exact for value in shared) and not profile.rare:
        rows = [row for row in rows if row[0] in shared]
        return ListedHierarchy(tuple(rows), f"all values are those of the ready-made {name}", name)
    width = len(rows[0])
    listed = {value: (value, *known.get(_plain(value), (TODO,) * (width - 2) + (TOP,))) for value in shared}
    if profile.rare:  # which of them there are, a list of only those would tell
        listed = {row[0]: row for row in rows} | listed
    strange = sum(TODO in row for row in listed.values())
    why = f"most values are those of the ready-made {name}"
    why += f"; {strange} left to fill in" if strange else ""
    return ListedHierarchy(tuple(listed.values()), why)


def by_frequency(profile: ColumnProfile) -> ListedHierarchy | None:
    """Frequent values by themselves, the others together, then the top. None where it would not know most rows."""
    shared = profile.shared[:_LONGEST]
    if sum(n for _, n in shared) < _MOST * profile.counts.filled:
        return None
    other = next(word for word in ("other", "(other)", "((other))") if word not in dict(profile.shared))
    levels: list[dict[str, str]] = []
    for share in _OFTEN:
        frequent = {value for value, n in shared if n >= share * profile.rows}
        together = sum(n for value, n in shared if value not in frequent)
        if together > _TOGETHER * profile.rows:
            break
        if 1 < len(frequent) < len(shared) - 1 and (not levels or set(levels[-1].values()) != frequent | {other}):
            levels.append({value: value if value in frequent else other for value, _ in shared})
    if not levels:
        return None
    rows = tuple((value, *(level[value] for level in levels), TOP) for value, _ in shared)
    return ListedHierarchy(rows, "frequent values by themselves, the others together")


def to_fill_in(profile: ColumnProfile) -> ListedHierarchy | None:
    """The values that at least k rows share, with parents that only a person knows."""
    rows = tuple((value, TODO, TOP) for value, _ in profile.shared[:_LONGEST])
    return ListedHierarchy(rows, "values without parents") if rows else None


def _may_be(name: str, profile: ColumnProfile) -> bool:
    """Bare numbers are codes of many things: only the name of the column tells which."""
    numbers = sum(value.strip().isdecimal() for value, _ in profile.shared)
    return 2 * numbers < len(profile.shared) or bool(set(name.split("_")) & set(words_of(profile.name)))


@cache
def _read(name: str) -> list[tuple[str, ...]]:
    path: Path = resources.builtin_hierarchies()[name]
    with path.open(encoding="utf-8", newline="") as file:
        return [tuple(row) for row in csv.reader(file)][1:]


@cache
def _known(name: str) -> dict[str, tuple[str, ...]]:
    """The parents of each value, by how it is written once the ways to write it are put aside. What could be two is
    none."""
    known: dict[str, tuple[str, ...]] = {}
    doubtful = set()
    for value, *parents in _read(name):
        plain = _plain(value)
        if known.setdefault(plain, tuple(parents)) != tuple(parents):
            doubtful.add(plain)
    return {plain: parents for plain, parents in known.items() if plain not in doubtful}


def _plain(value: str) -> str:
    """Without case, accents, blanks and signs; a whole number as such."""
    text = value.strip()
    whole, point, zeros = text.partition(".")
    if point and whole.lstrip("+-").isdecimal() and not zeros.strip("0"):
        text = whole
    apart = unicodedata.normalize("NFKD", text).casefold()
    letters = "".join(sign for sign in apart if sign.isalnum())
    return apart if letters.isdecimal() or not letters else letters
