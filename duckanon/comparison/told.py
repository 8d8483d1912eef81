"""A comparison as it is told: as text for a person, as JSON, as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from decimal import Decimal
from operator import add
from textwrap import shorten, wrap
from typing import TYPE_CHECKING, Any

from duckanon.comparison.choices import Choice
from duckanon.comparison.column_words import AS_IT_IS, GONE
from duckanon.comparison.comparing import Comparison
from duckanon.result import plain_figures

if TYPE_CHECKING:
    import pandas

_WIDTH = 79  # of a terminal
_LEAST = 30  # characters of a reason

Command = Callable[[Choice], str]  # how a choice is taken

_LEGEND = """\
* on the front: no other choice is at least as good in k, suppressed rows and
  NCP and better in one of them      > the policy as it is"""


def as_json(comparison: Comparison, command: Command) -> dict[str, Any]:
    """One document, with all that is known of every choice."""
    front = comparison.front
    return {
        "name": comparison.name,
        "rows": comparison.rows,
        "choices": [_document(choice, choice in front, command) for choice in comparison.choices],
        "skipped": comparison.skipped,
        "missing": comparison.missing,
        "warnings": list(comparison.warnings),
    }


def _document(choice: Choice, on_front: bool, command: Command) -> dict[str, Any]:
    policy = choice.wanted.policy
    share = policy.suppression
    document: dict[str, Any] = {
        "method": policy.search.method,
        "k": policy.k,
        "suppression": float(share) if isinstance(share, Decimal) else share,
        "status": choice.status,
        "levels": choice.levels,
        "suppressed": choice.suppressed,
        "ncp": choice.ncp,
        "utility": choice.utility,
        "highest_risk": choice.highest_risk,
        "classes": choice.classes,
        "columns": choice.columns or None,
        "seconds": choice.seconds,
        "front": on_front,
        "policy": choice.wanted.is_own,
        "reasons": list(choice.reasons),
        "run": command(choice),
    }
    return {name: plain_figures(value) for name, value in document.items()}


def as_frame(comparison: Comparison) -> pandas.DataFrame:
    """A row per choice."""
    import pandas

    front = comparison.front
    rows = [_document(choice, choice in front, lambda _: "") for choice in comparison.choices]
    return pandas.DataFrame([{name: value for name, value in row.items() if name != "run"} for row in rows])


def as_csv(comparison: Comparison, command: Command) -> str:
    """A line per choice. What a column has become is in words."""
    out, front = io.StringIO(), comparison.front
    lines = [_document(choice, choice in front, command) for choice in comparison.choices]
    names = [name for name in lines[0] if name not in ("levels", "utility")]
    writer = csv.DictWriter(out, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for line in lines:
        told = {"columns": "; ".join(_phrases(line["columns"] or {})), "reasons": "; ".join(line["reasons"])}
        told |= {name: str(line[name]).lower() for name in ("front", "policy")}
        writer.writerow(line | told)
    return out.getvalue().rstrip("\n")


# -- text ---------------------------------------------------------------------------------------------


def as_text(comparison: Comparison, command: Command) -> str:
    """A line per choice; then, of the policy's own and those on the front, what becomes of the columns."""
    front, choices = comparison.front, comparison.choices
    count = f"{len(choices)} choices" if len(choices) > 1 else "one choice"
    lines = [f"{comparison.name}: {count} from one census of {comparison.rows:,} rows; nothing was written"]
    if comparison.missing:
        lines.append(f"  interrupted: {comparison.missing} more were asked for")
    lines += ["", *_table(comparison), "", *_LEGEND.splitlines()]
    for choice in _worth_describing(comparison):
        lines += ["", *_described(choice, choice in front, command)]
    lines += [""] if comparison.skipped else []
    for method, why in comparison.skipped.items():
        lines += wrap(f"left out: {method}: {why}", _WIDTH, subsequent_indent="  ")
    lines += [f"warning: {warning}" for warning in comparison.warnings]
    return "\n".join(lines)


def _worth_describing(comparison: Comparison) -> list[Choice]:
    """The policy's own and those on the front, of equal ones the first."""
    front, shown = comparison.front, list[Choice]()
    known = set[tuple[Any, ...]]()
    for choice in comparison.choices:
        same = (choice.wanted.policy.k, choice.wanted.policy.search.method, choice.suppressed, choice.ncp)
        if choice.wanted.is_own or (choice in front and same not in known):
            shown.append(choice)
            known.add(same)
    return shown


def _table(comparison: Comparison) -> Iterator[str]:
    front, choices = comparison.front, comparison.choices
    starts = [("", "method", "k", "budget"), *(_start(choice, choice in front) for choice in choices)]
    _, method, k, budget = (max(map(len, column)) for column in zip(*starts, strict=True))
    lines = [f"{marks:<2} {word:<{method}}  {size:>{k}}  {share:>{budget}}  " for marks, word, size, share in starts]
    room = max(_LEAST, _WIDTH - len(lines[0]))
    ends = ["    suppressed     NCP    risk  seconds", *(_end(choice, comparison.rows, room) for choice in choices)]
    yield from map(add, lines, ends)


def _start(choice: Choice, on_front: bool) -> tuple[str, str, str, str]:
    policy, budget = choice.wanted.policy, choice.wanted.policy.suppression
    share = f"{budget:f}" if isinstance(budget, Decimal) else f"{budget:,}"
    return _marks(choice, on_front), policy.search.method, f"{policy.k:,}", share


def _end(choice: Choice, rows: int, room: int) -> str:
    """The figures, in columns; or why there are none, as far as there is room."""
    if choice.status != "holds":
        return shorten(f"none: {'; '.join(choice.reasons)}", room, placeholder=" …")
    suppressed = f"{choice.suppressed:,} ({(choice.suppressed or 0) / rows:.1%})"
    return f"{suppressed:>14}  {choice.ncp:6.4f}  {choice.highest_risk:>6.1%}  {choice.seconds:7.2f}"


def _marks(choice: Choice, on_front: bool) -> str:
    return ("*" if on_front else " ") + (">" if choice.wanted.is_own else " ")


def _described(choice: Choice, on_front: bool, command: Command) -> Iterator[str]:
    yield f"{_marks(choice, on_front)} {choice.wanted.name}"
    said = "; ".join(_phrases(choice.columns) if choice.columns else choice.reasons)
    yield from wrap(said, _WIDTH, initial_indent="   ", subsequent_indent="   ")
    if choice.status == "holds":
        yield f"   $ {command(choice)}"


def _phrases(columns: dict[str, str]) -> Iterator[str]:
    """Columns with the same fate are told together."""
    for fate, title in ((AS_IT_IS, "as they are"), (GONE, "gone")):
        if named := [name for name, words in columns.items() if words == fate]:
            yield f"{title if named[1:] else fate}: {', '.join(named)}"
    for name, words in columns.items():
        if words not in (AS_IT_IS, GONE):
            link = " in " if words.startswith("ranges") else " " if words.startswith("by ") else ": "
            yield f"{name}{link if ',' not in words else ': '}{words}"
