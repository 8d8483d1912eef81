"""A proposal as a person reads it: a line for each column."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from duckanon.proposal.proposal import Proposal
from duckanon.proposal.proposed import ProposedColumn

_HEAD = ("column", "distinct", "alone", "role", "hierarchy", "why")
_WIDEST = 34  # characters of a name or a hierarchy
_ROLES = {"quasi_identifier": "quasi-identifier"}


def proposal_text(proposal: Proposal, wrote: Sequence[Path]) -> str:
    lines = [f"{_shortened(proposal.source, 60)}: {proposal.rows:,} rows, {len(proposal.columns)} columns", ""]
    rows = [_HEAD, *map(_row, proposal.columns)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD) - 1)]
    lines += ["  " + "  ".join([*map(_placed, row[:-1], widths, range(5)), row[-1]]).rstrip() for row in rows]
    if proposal.riskiest:
        lines += ["", "  riskiest together: rows alone with what they have in"]
    for found in proposal.riskiest:
        about = "" if found.exact else "about "
        named = ", ".join(map(_shortened, found.columns))
        lines.append(f"    {named}: {about}{found.alone:,} ({found.alone / proposal.rows:.1%})")
    lines += ["", *(f"wrote {path}" for path in wrote)]
    return "\n".join([*lines, _next_step(proposal)])


def _row(c: ProposedColumn) -> tuple[str, ...]:
    about = "" if c.exact else "≈"
    distinct = "–" if c.distinct is None else f"{about}{c.distinct:,}"
    alone = "–" if c.alone_share is None else f"{about}{c.alone_share:.1%}"
    role = _ROLES.get(c.role, c.role) + (" TODO" if c.todo else "")
    hierarchy = "" if c.hierarchy is None else c.file or (c.hierarchy.toml or "none").strip("{} ")
    return _shortened(c.name), distinct, alone, role, _shortened(hierarchy), c.said


def _placed(text: str, width: int, position: int) -> str:
    return f"{text:>{width}}" if position in (1, 2) else f"{text:<{width}}"


def _shortened(text: str, most: int = _WIDEST) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def _next_step(proposal: Proposal) -> str:
    todo, path = proposal.todos, shlex.quote(str(proposal.path))
    if not todo:
        return f"read it, then: duckanon run {path}"
    return f"read it and decide {todo} TODO{'s' if todo > 1 else ''} in it, then: duckanon run {path}"
