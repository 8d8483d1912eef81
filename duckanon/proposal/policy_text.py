"""The proposed policy as a TOML file that explains itself. Without its lines with TODO it is a policy that runs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from duckanon.policy import Source
from duckanon.policy.database import ServerAddress
from duckanon.proposal.combinations import Combination
from duckanon.proposal.proposed import ProposedColumn
from duckanon.proposal.roles import DROP, IDENTIFIER, QUASI_IDENTIFIER, SENSITIVE
from duckanon.proposal.sources import csv_keys, place_of, relative
from duckanon.toml.writing import dotted, written_value
from duckanon.version import VERSION

_BUDGET = "0.02"
_MANY = 12  # quasi-identifiers
_LOOKS = 20_000  # columns times nodes that a search may look at before it takes too long for a first time


def policy_text(
    name: str,
    source: Source,
    rows: int,
    k: int,
    columns: Sequence[ProposedColumn],
    riskiest: Sequence[Combination],
    unmapped: str | None,
    folder: Path,
    file: str,
) -> str:
    """`file`: what the policy is called, in what it says of itself."""
    parts = [
        _opening(rows, columns, shlex.quote(file)),
        [f"name = {written_value(name)}"],
        list(_source(source, folder)),
        list(_privacy(k, columns, unmapped)),
        *(_quasi_identifier(c) for c in columns if c.role == QUASI_IDENTIFIER),
        *_sensitive(columns),
        list(_others(columns)),
        list(_search(columns, shlex.quote(file))),
        list(_release(source, name)),
        list(_told(riskiest, rows)),
    ]
    return "\n".join("\n".join([*part, ""]) for part in parts if part)


def _opening(rows: int, columns: Sequence[ProposedColumn], file: str) -> list[str]:
    return [
        f"# Proposed by duckanon {VERSION} from {rows:,} rows of {len(columns)} columns. Read it, decide each TODO:",
        f"#   duckanon run {file}        releases, and verifies the release",
        f"#   duckanon hierarchy {file}  shows what each level does to the data",
        "# Every column has one role: quasi_identifiers, what others may know of a person; sensitive, what nobody",
        "# should learn; columns.identifiers, what names people; columns.drop, what is left out; columns.keep, what",
        "# identifies nobody.",
    ]


def _source(source: Source, folder: Path) -> Iterator[str]:
    yield "[source]"
    if source.table is not None:
        yield f"table = {written_value(source.table)}"
    if source.query is not None:
        yield f"query = {written_value(source.query)}"
    if source.file is not None:
        yield f"file = {written_value(relative(source.file, folder))}"
    if isinstance(source.database, ServerAddress):
        known = source.database
        yield (
            "# the address has a secret in it: give it with --db"
            if known.has_secret
            else f"database = {written_value(known.url)}"
        )
    elif source.database is not None:
        yield f"database = {written_value(relative(str(source.database), folder))}"
    if keys := csv_keys(source.csv):
        yield from ("", "[source.csv]", *(f"{key} = {written_value(value)}" for key, value in keys.items()))


def _privacy(k: int, columns: Sequence[ProposedColumn], unmapped: str | None) -> Iterator[str]:
    yield from ("[privacy]", f"k = {k}  # everybody hides among at least so many")
    yield f"suppression = {_BUDGET}  # so large a share of the rows may be left out for it"
    if unmapped is not None:
        fate = "is shown as the top, *" if unmapped == "top" else "leaves its row out, within that share"
        yield f'unmapped = "{unmapped}"  # a value that a hierarchy does not know {fate}'
    for c in columns:
        if c.repeats:
            yield f"# entity = {written_value(c.name)}  # if it names people who may have several rows: counts people"
            return


def _quasi_identifier(c: ProposedColumn) -> list[str]:
    lines = [f"[quasi_identifiers.{dotted((c.name,))}]  # {c.figures}"]
    assert c.hierarchy is not None
    if (value := c.hierarchy_value) is not None:
        return [*lines, f"hierarchy = {value}  # {c.hierarchy.why}"]
    return [*lines, f"# no hierarchy: {c.hierarchy.why}"]


def _sensitive(columns: Sequence[ProposedColumn]) -> Iterator[list[str]]:
    found = [c for c in columns if c.role == SENSITIVE]
    for c in found:
        head = f"[sensitive.{dotted((c.name,))}]  # {c.figures}"
        if not c.todo:
            yield [head, f"l = {c.diversity}  # so many different values in every class"]
            continue
        yield [
            f"# {c.why[0].upper()}{c.why[1:]}. If so, l is how many different values every",
            "# class must have, so that nobody learns the one of a person; if not, give the column another role.",
            head,
            f'l = "TODO: how many different values every class must have, such as {c.diversity}"',
        ]
    if not found:
        yield [
            "[sensitive]",
            'decide = "TODO: what should nobody learn of a person? Make each such column a [sensitive.COLUMN] with '
            'l = 3, then delete this line"',
        ]


def _others(columns: Sequence[ProposedColumn]) -> Iterator[str]:
    yield "[columns]"
    for key, role, what in (
        ("identifiers", IDENTIFIER, "what names people: never released"),
        ("drop", DROP, "not released either"),
    ):
        named = [c for c in columns if c.role == role]
        if not named:
            continue
        yield f"{key} = [  # {what}"
        yield from (f"  {written_value(c.name)},  # {c.why}" for c in named)
        yield "]"
    yield "# keep = []  # released as they are: only what identifies nobody"


def _search(columns: Sequence[ProposedColumn], file: str) -> Iterator[str]:
    many = sum(c.role == QUASI_IDENTIFIER for c in columns)
    if many > _MANY:
        yield f"# {many} quasi-identifiers together leave hardly anything: list under columns.drop what nobody needs."
    yield "[search]"
    yield 'method = "optimal"  # one level for each column, with the least loss'
    yield f"nodes = {min(2_000, _LOOKS // many)}  # of the lattice, at most"
    yield '# "climb" releases every class at its own levels, and mostly loses far less; all methods side by side:'
    yield f"#   duckanon compare {file}"


def _release(source: Source, name: str) -> Iterator[str]:
    place = place_of(source, name)
    yield from (
        "[release]",
        f'kind = "{place.kind}"  # table | view | parquet | csv',
        f"to = {written_value(place.to)}",
    )


def _told(riskiest: Sequence[Combination], rows: int) -> Iterator[str]:
    if riskiest:
        yield "# Riskiest together, as the table is: rows alone with what they have in"
    for found in riskiest:
        about = "" if found.exact else "about "
        named = ", ".join(dotted((name,)) for name in found.columns)
        yield f"#   {named}: {about}{found.alone:,} ({found.alone / rows:.1%})"
