"""A report as Markdown, for a pull request: tables, and lines of text for pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from duckanon.pages import words
from duckanon.pages.report import Report, Risk
from duckanon.pages.words import number, percent

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&$@]|^[-+=]|(?<=^\d)[.)])")


def markdown_page(report: Report) -> str:
    """Whatever a name or label is, it is text there."""
    parts = [f"<!-- duckanon report of {report.name} ({_plain(report.version)}) -->", f"# {text(report.name)}"]
    parts += [f"**{words.verdict(report)}** {_where(report)}", *_sections(report)]
    return "\n\n".join(parts) + "\n"


def text(said: object) -> str:
    """As plain text on one line, whatever it says."""
    return _SPECIAL.sub(r"\\\1", " ".join(str(said).split()))


def _plain(version: str) -> str:
    """Nothing that could end a comment; the ledger is only a table."""
    return re.sub(r"[^\w.+ ]", "", version)


def code_block(code: str) -> str:
    """Behind a fence that the code itself has none of."""
    longest = max((len(run) for run in re.findall(r"`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}toml\n{code.rstrip()}\n{fence}"


def table(head: Sequence[str], rows: Iterable[Sequence[object]], words_first: int = 1) -> str:
    """The first columns hold words, the others figures."""
    lines = [head, ["---" if nth < words_first else "---:" for nth in range(len(head))]]
    body = [[text(cell) for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in [*lines, *body])


def _where(report: Report) -> str:
    moment = report.finished or report.started
    when = f", {moment}" if moment else ""
    return text(f"From {report.source} to {report.kind} {report.place}{when}, by duckanon {report.version}.")


def _sections(report: Report) -> Iterator[str]:
    if report.warnings:
        yield "## Warnings\n\n" + _list(report.warnings)
    yield "## The release\n\n" + _figures(report)
    if report.unknown:
        yield "Not known:\n\n" + _list(report.unknown)
    yield "## What the policy asks for, and what was measured\n\n" + _thresholds(report)
    yield "## The risk to be found\n\n" + _risk(report)
    if report.columns:
        yield "## What it cost\n\n" + _columns(report)
    if report.associations:
        yield _associations(report)
    if report.roles:
        rows = [(role.column, role.role, role.note) for role in report.roles]
        yield "## The columns\n\n" + table(["column", "role", "what becomes of it"], rows, 3)
    if report.profile:
        yield "## The profile\n\n" + _profile(report.profile)
    if report.previous:
        rows = [(change.what, number(change.before), number(change.after)) for change in report.changes]
        then = f"{report.previous.time:%Y-%m-%d %H:%M} UTC"
        yield f"## What changed since the last release\n\nOf {then}.\n\n" + table(["figure", "then", "now"], rows)
    if len(report.releases) > 1:
        yield "## All releases\n\n" + _releases(report)
    if report.unprotected:
        yield "## What is not protected\n\n" + _list(report.unprotected)
    yield f"## The policy, as it was run\n\n`{report.policy_hash}`\n\n{code_block(report.policy_text)}"


def _list(said: Iterable[str]) -> str:
    return "\n".join(f"- {text(part)}" for part in said)


def _figures(report: Report) -> str:
    rows = report.rows
    allowed = f", {number(report.budget)} allowed" if report.budget is not None else ""
    told = [
        ("rows released", f"{number(rows.get('released'))} of {number(rows.get('source'))}"),
        ("rows suppressed", f"{number(rows.get('suppressed'))} ({percent(report.suppressed_share)}){allowed}"),
        ("classes", number(report.classes)),
        ("information lost (NCP)", percent(report.utility.get("ncp"))),
        ("method", report.method),
        ("run", report.run or words.NOT_KNOWN),
    ]
    return table(["figure", "value"], told)


def _profile(profile: Mapping[str, Any]) -> str:
    rows = [(clause["rule"], clause["asks"], clause["met"]) for clause in profile["clauses"]]
    parts = [f"{text(profile['title'])} (`{profile['name']}`).", table(["rule", "asks for", "here"], rows, 3)]
    parts += ["Made stricter than the policy is written:\n\n" + _list(profile["raised"])] if profile["raised"] else []
    return "\n\n".join([*parts, "What the profile does not do:\n\n" + _list(profile["left"])])


def _thresholds(report: Report) -> str:
    rows = [
        (words.threshold_name(t), words.bound(t), number(t.measured), number(t.margin), "holds" if t.holds else "FAILS")
        for t in report.thresholds
    ]
    return table(["constraint", "threshold", "measured", "margin", "verdict"], rows)


def _risk(report: Report) -> str:
    before, after = report.before or Risk(), report.after
    figures = [
        ("smallest class", number(before.smallest), number(after.smallest)),
        ("highest risk", percent(before.highest), percent(after.highest)),
        ("average risk", percent(before.average), percent(after.average)),
    ]
    told = table(["figure", "before", "after"], figures)
    if report.seekers:
        above = f"rows above {percent(report.risk_threshold)}"
        seekers = [
            (s.name, s.knows, percent(s.highest), percent(s.average), percent(s.at_risk)) for s in report.seekers
        ]
        told += "\n\n" + table(["who looks", "knows", "highest risk", "average risk", above], seekers, 2)
    if report.uniques:
        told += f"\n\n{text(words.uniques_in_words(report.uniques))}"
    if not report.bins:
        return told
    rows = [(part.name, percent(part.before), percent(part.after)) for part in report.bins]
    head = ["size of the class", f"{report.counted} before", f"{report.counted} after"]
    return f"{told}\n\n{table(head, rows)}"


def _columns(report: Report) -> str:
    rows = [
        (c.name, words.level(c), ", ".join(words.examples(c)) or words.NOT_KNOWN, number(c.figures.get("ncp")))
        for c in report.columns
    ]
    return table(["column", "level", "labels of the release", "NCP"], rows, 3)


def _associations(report: Report) -> str:
    rows = [
        (
            " and ".join(pair["columns"]),
            words.measure_name(pair["measure"]),
            number(pair["before"]),
            number(pair["after"]),
        )
        for pair in report.associations
    ]
    return table(["go together", "measure", "before", "after"], rows, 2)


def _releases(report: Report) -> str:
    past = report.releases
    lines: dict[str, list[float | None]] = {"k": [r.k for r in past], "rows": [r.rows for r in past]}
    lines |= {"NCP": [r.ncp for r in past]}
    rows = [
        (name, words.sparkline(figures), number(figures[0]), number(figures[-1])) for name, figures in lines.items()
    ]
    return f"{len(report.releases):,} in the ledger.\n\n" + table(["figure", "over time", "first", "last"], rows, 2)
