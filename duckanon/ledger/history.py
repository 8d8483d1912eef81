"""The ledger read back: what was released, when, and what was measured."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from duckanon.engine import Warehouse
from duckanon.engine.opening import open_warehouse
from duckanon.ledger.ledger import is_warehouse
from duckanon.ledger.tables import COLUMNS, LedgerTables
from duckanon.policy import Policy
from duckanon.policy.schema import RELATIONS

if TYPE_CHECKING:
    import pandas

_WIDTH = 100  # characters of a line for people
_ELASTIC = ("policy", "levels", "target")  # the columns that give way
_HEADER = ("finished", "policy", "outcome", "released", "left out", "levels", "target")
_NAMED_LEVELS = 30  # characters that levels may take with their names
_RIGHT = ("released", "left out")


def history(warehouse: Warehouse, policy: str | None = None, limit: int | None = None) -> list[dict[str, Any]]:
    """The runs in this database's ledger, newest first, each with its constraints; `policy`: only of that name."""
    tables = LedgerTables(warehouse)
    if not tables.exist:
        return []
    entries = tables.entries(limit, **({} if policy is None else {"policy": policy}))
    constraints = tables.constraints()
    told = []
    for entry in entries:
        measured = [asdict(c) for c in constraints.get(entry.id, [])]
        for constraint in measured:
            del constraint["release_id"]
        written = {name: json.loads(text) if (text := getattr(entry, name)) else None for name in _WRITTEN_AS_JSON}
        told.append(asdict(entry) | written | {"constraints": measured})
    return told


def history_of(policy: Policy, warehouse: Warehouse) -> list[dict[str, Any]]:
    """The runs of a policy in its own ledger: a file that it names, or the warehouse, which is open."""
    if policy.ledger is None or is_warehouse(policy.ledger, warehouse):
        return history(warehouse, policy.name)
    if not policy.ledger.exists():
        return []
    with open_warehouse(policy.ledger, writable=False) as ledger:
        return history(ledger, policy.name)


_WRITTEN_AS_JSON = ("levels", "shows", "warnings")


def as_frame(runs: list[dict[str, Any]]) -> pandas.DataFrame:
    """One row per run."""
    import pandas

    return pandas.DataFrame(runs, columns=[*COLUMNS, "constraints"])


def as_text(runs: list[dict[str, Any]]) -> str:
    """A table for people, one line per run; below it why there was no release, and what was to be said of it."""
    if not runs:
        return "no run is recorded"
    lines = [_HEADER, *(_line(run) for run in runs)]
    widths = _fitted([max(map(len, cells)) for cells in zip(*lines, strict=True)])
    rows = [_aligned(line, widths) for line in lines]
    below = [_below(run) for run in runs]
    return "\n".join([rows[0], *(line for row, more in zip(rows[1:], below, strict=True) for line in (row, *more))])


def _fitted(widths: list[int]) -> list[int]:
    """The widest of the elastic columns give way until a line fits."""
    fitted, gaps = dict(zip(_HEADER, widths, strict=True)), 2 * (len(widths) - 1)
    while sum(fitted.values()) + gaps > _WIDTH and (widest := max(fitted[name] for name in _ELASTIC)) > 1:
        fitted[next(name for name in _ELASTIC if fitted[name] == widest)] -= 1
    return list(fitted.values())


def _aligned(line: tuple[str, ...], widths: list[int]) -> str:
    cells = zip(_HEADER, (_cut(cell, width) for cell, width in zip(line, widths, strict=True)), widths, strict=True)
    return "  ".join(
        f"{cell:>{width}}" if name in _RIGHT else f"{cell:<{width}}" for name, cell, width in cells
    ).rstrip()


def _line(run: dict[str, Any]) -> tuple[str, ...]:
    figures = [run["rows_released"], run["rows_suppressed"]]
    return (
        f"{run['finished_at']:%Y-%m-%d %H:%M}",
        run["policy"],
        run["outcome"],
        *("–" if figure is None else f"{figure:,}" for figure in figures),
        _levels(run["levels"]),
        release_target(run["target_kind"], run["target_place"]),
    )


def _levels(levels: dict[str, int] | None) -> str:
    """The bare levels where the names are too long to show."""
    named = " ".join(f"{name}={level}" for name, level in (levels or {}).items())
    return (named if len(named) <= _NAMED_LEVELS else " ".join(map(str, (levels or {}).values()))) or "–"


def release_target(kind: str, place: str) -> str:
    return place if kind in RELATIONS else Path(place).name


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _below(run: dict[str, Any]) -> list[str]:
    said = [run["message"]] if run["message"] else []
    said += [f"warning: {warning}" for warning in run["warnings"] or []]
    return [line for text in said for line in wrapped(" ".join(text.split()))]


def wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="    ", subsequent_indent="      ", break_long_words=True)
