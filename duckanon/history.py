"""The ledger read back: what was released, when, and what was measured."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from duckanon.engine import Engine
from duckanon.ledger.tables import COLUMNS, LedgerTables

if TYPE_CHECKING:
    import pandas

_SHOWN = ("finished", "policy", "outcome", "released", "suppressed", "classes", "levels", "target", "message")


def history(engine: Engine, policy: str | None = None, limit: int | None = None) -> list[dict[str, Any]]:
    """The runs in this database's ledger, newest first, each with its constraints; `policy`: only of that name."""
    tables = LedgerTables(engine)
    if not tables.exist():
        return []
    entries = tables.entries(limit, **({} if policy is None else {"policy": policy}))
    constraints = tables.constraints()
    told = []
    for entry in entries:
        measured = [asdict(c) for c in constraints.get(entry.id, [])]
        for constraint in measured:
            del constraint["release_id"]
        levels = json.loads(entry.levels) if entry.levels else None
        told.append(asdict(entry) | {"levels": levels, "constraints": measured})
    return told


def as_frame(runs: list[dict[str, Any]]) -> pandas.DataFrame:
    """One row per run."""
    import pandas

    return pandas.DataFrame(runs, columns=[*COLUMNS, "constraints"])


def as_text(runs: list[dict[str, Any]]) -> str:
    """A table for people, one line per run."""
    if not runs:
        return "no run is recorded"
    lines = [list(_SHOWN), *(_line(run) for run in runs)]
    # The message comes last, so that its length does no harm.
    widths = [max(len(line[place]) for line in lines) for place in range(len(_SHOWN) - 1)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]).rstrip()
        for line in lines
    )


def _line(run: dict[str, Any]) -> list[str]:
    figures = [run["rows_released"], run["rows_suppressed"], run["classes"]]
    return [
        f"{run['finished_at']:%Y-%m-%d %H:%M:%S}",
        run["policy"],
        run["outcome"],
        *("–" if figure is None else f"{figure:,}" for figure in figures),
        ", ".join(f"{name}={level}" for name, level in (run["levels"] or {}).items()) or "–",
        f"{run['target_kind']} {run['target_place']}",
        " ".join((run["message"] or "").split()),
    ]
