"""Hierarchies that are lists: a ready-made one where most values match, or a skeleton by frequency. They hold what at
least k rows share, and what is public anyhow."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

from duckanon.proposal.columns import ColumnProfile
from duckanon.proposal.ready_made import ReadyMade

TOP = "*"
_MOST = 0.6  # of the rows must have a value that is listed
_LONGEST = 1_000  # values that a skeleton lists
_OFTEN = (0.01, 0.05)  # shares of the rows from which on a value stands for itself, level by level

_TOGETHER = 0.35  # of the rows at most have a value that stands with others


@dataclass(frozen=True)
class ListedHierarchy:
    """The rows of a file."""

    rows: tuple[tuple[str, ...], ...]
    why: str

    @property
    def values(self) -> set[str]:
        """Those that it knows: not left to fill in."""
        return {row[0] for row in self.rows if "" not in row[1:]}

    @property
    def text(self) -> str:
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\n")
        writer.writerow([f"level_{level}" for level in range(len(self.rows[0]))])
        writer.writerows(self.rows)
        return written.getvalue()


def like_ready_made(found: ReadyMade, profile: ColumnProfile) -> ListedHierarchy:
    """The values that at least k rows share with the parents that they have in a ready-made hierarchy, or none yet."""
    width = len(found.every[0])
    left = ("",) * (width - 2) + (TOP,)
    listed = {value: (value, *(parents or left)) for value, parents in found.matched}
    if profile.rare:  # which of them there are, a list of only those would tell
        listed = {row[0]: row for row in found.every} | listed
    unfilled = sum("" in row[1:] for row in listed.values())
    why = f"most values are those of the ready-made {found.name}"
    return ListedHierarchy(tuple(listed.values()), why + (f"; {unfilled} left to fill in" if unfilled else ""))


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
    rows = tuple((value, "", TOP) for value, _ in profile.shared[:_LONGEST])
    return ListedHierarchy(rows, "values without parents") if rows else None
