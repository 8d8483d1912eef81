"""A first policy: looks at a table with a few aggregate queries, and writes what a person can read and change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from duckanon.analysts.metrics import known_columns
from duckanon.census.source import define_source
from duckanon.engine import Column, Relation, Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.errors import EngineError, Fault, SourceError, UsageError
from duckanon.policy import CsvOptions, Source
from duckanon.proposal.columns import ColumnProfile, profile_columns
from duckanon.proposal.combinations import Combination, riskiest
from duckanon.proposal.files import must_be_new, write_new
from duckanon.proposal.hierarchies import ProposedHierarchy, propose_hierarchy
from duckanon.proposal.null_marks import with_null_marks
from duckanon.proposal.policy_text import policy_text
from duckanon.proposal.proposed import ProposedColumn
from duckanon.proposal.roles import DROP, IDENTIFIER, QUASI_IDENTIFIER, SENSITIVE, Role, role_of
from duckanon.proposal.sources import draft, name_of, named
from duckanon.query.names import folded

_GIVEN = "given"
_SUPPRESSIBLE = 0.01  # of the rows, half of the budget that is proposed: local methods know no other way


@dataclass(frozen=True)
class Given:
    """Columns whose role the user says."""

    qi: Sequence[str] = ()
    sensitive: Sequence[str] = ()
    identifiers: Sequence[str] = ()


@dataclass(frozen=True)
class Proposal:
    """A policy for a source, with the files that it needs beside it."""

    source: str
    rows: int
    columns: tuple[ProposedColumn, ...]
    riskiest: tuple[Combination, ...]
    path: Path  # where the policy goes
    policy: str  # its text
    files: dict[str, str]  # hierarchies, by the names of their files

    def texts(self) -> dict[Path, str]:
        """All that is to be written: the hierarchies first, so that no policy is without them."""
        return {self.path.with_name(name): text for name, text in self.files.items()} | {self.path: self.policy}

    def write(self) -> list[Path]:
        """All files, or none; never over one that is there."""
        texts = self.texts()
        write_new(texts)
        return [self.path, *(path for path in texts if path != self.path)]

    @property
    def todos(self) -> int:
        return sum(' = "TODO' in line for line in self.policy.splitlines())

    def as_json(self, wrote: Sequence[Path] = ()) -> dict[str, Any]:
        return {
            "source": self.source,
            "rows": self.rows,
            "columns": [c.as_json() for c in self.columns],
            "riskiest": [{"columns": list(found.columns), "alone": found.alone} for found in self.riskiest],
            "wrote": [str(path) for path in wrote],
        }


def propose(
    source: Source, warehouse: Warehouse, k: int = 5, given: Given | None = None, to: Path | None = None
) -> Proposal:
    """Look at the source and propose a policy for it. Nothing is written."""
    given = given or Given()
    name = name_of(source) if to is None else named(to.stem)
    path = to or Path(f"{name}.toml")
    must_be_new({path: ""})
    scratch = Scratch(warehouse.workbench)
    try:
        source, relation = _read(source, name, warehouse, scratch)
        columns = [replace(c, written=c.name in relation.written) for c in warehouse.columns(relation.table)]
        roles = _given_roles(given, columns)
        compared = [c for c in columns if c.type.comparable and not c.type.is_nested]
        rows, profiles = profile_columns(relation, compared, k, warehouse, scratch)
        if not rows:
            raise SourceError([Fault("SOURCE", "has no rows", "there is nothing to learn a policy from")])
        marked, profiles = with_null_marks(source.csv, profiles)
        source = replace(source, csv=marked)
        known = {profile.name: profile for profile in profiles}
        decided = bool(given.sensitive)
        proposed = [_proposed(c, known.get(c.name), roles.get(c.name), k, name, decided) for c in columns]
        source, proposed = _one_dateformat(source, _files_apart(proposed))
        _must_have_something(proposed)
        quasi = [known[c.name] for c in proposed if c.role == QUASI_IDENTIFIER]
        found = riskiest(relation, quasi, rows, warehouse)
    finally:
        scratch.clear()
    text = policy_text(name, source, rows, k, proposed, found, _unmapped(proposed, rows), path.parent, path.name)
    files = {c.file: c.hierarchy.file.text for c in proposed if c.file and c.hierarchy and c.hierarchy.file}
    spelled = source.table or source.query or source.file or ""
    return Proposal(spelled, rows, tuple(proposed), tuple(found), path, text, files)


def _read(source: Source, name: str, warehouse: Warehouse, scratch: Scratch) -> tuple[Source, Relation]:
    """The source as a relation; of a CSV file without a header the first line is data, which names no column."""
    try:
        relation = define_source(draft(source, name), warehouse, scratch)
    except EngineError as error:
        if source.csv != CsvOptions() or "source.csv.encoding" not in str(error):
            raise
        scratch.clear()
        return _read(replace(source, csv=CsvOptions(encoding="latin-1")), name, warehouse, scratch)
    if relation.written and _is_headless([c.name for c in warehouse.columns(relation.table)]):
        scratch.clear()
        source = replace(source, csv=replace(source.csv, header=False))
        relation = define_source(draft(source, name), warehouse, scratch)
    return source, relation


def _is_headless(names: list[str]) -> bool:
    return sum(not any(sign.isalpha() for sign in name) or "@" in name for name in names) > len(names) / 2


def _given_roles(given: Given, columns: list[Column]) -> dict[str, Role]:
    roles: dict[str, Role] = {}
    for option, names, role in (
        ("qi", given.qi, QUASI_IDENTIFIER),
        ("sensitive", given.sensitive, SENSITIVE),
        ("identifier", given.identifiers, IDENTIFIER),
    ):
        for name in known_columns(list(names), option, columns):
            if name in roles:
                raise UsageError([Fault(option, f"'{name}' has another role, too", "give each column one role")])
            roles[name] = Role(role, _GIVEN)
    return roles


def _proposed(
    c: Column, profile: ColumnProfile | None, given: Role | None, k: int, name: str, decided: bool
) -> ProposedColumn:
    if profile is None:
        role = Role(IDENTIFIER, _GIVEN) if given and given.name == IDENTIFIER else None
        if given and role is None:
            what = f"'{c.name}' is of type {c.type}, which cannot be released"
            raise UsageError([Fault(given.name, what, c.type.remedy)])
        role = role or Role(DROP, f"of type {c.type}: cast it in a query to release it")
        return ProposedColumn(c.name, str(c.type), role.name, role.why)
    role = given or role_of(profile)
    if role.todo and decided:
        role = Role(QUASI_IDENTIFIER, f"{role.why}, but not given as such")
    hierarchy = propose_hierarchy(profile, k) if role.name == QUASI_IDENTIFIER else None
    file = f"{name}_{named(c.name)}.csv" if hierarchy and hierarchy.file else None
    return ProposedColumn(
        c.name,
        str(c.type),
        role.name,
        role.why,
        role.todo,
        profile.distinct,
        profile.alone_share,
        profile.counts.exact,
        hierarchy,
        file,
        3 if profile.distinct > 4 else 2,
        role.name == IDENTIFIER
        and 1 < profile.distinct < 0.9 * profile.counts.filled
        and bool(profile.meanings & {"id", "number"}),
    )


def _files_apart(columns: list[ProposedColumn]) -> list[ProposedColumn]:
    """No two hierarchies in one file, however the names of their columns are spelled."""
    taken: list[str | None] = []
    for position, c in enumerate(columns):
        again = c.file is not None and folded(c.file) in taken
        file = f"{c.file.removesuffix('.csv')}_{position + 1}.csv" if again and c.file else c.file
        taken.append(None if file is None else folded(file))
        columns[position] = replace(c, file=file)
    return columns


def _one_dateformat(source: Source, columns: list[ProposedColumn]) -> tuple[Source, list[ProposedColumn]]:
    """A policy says once how dates are written: what is written otherwise goes without a hierarchy."""
    formats = [c.hierarchy.dateformat for c in columns if c.hierarchy and c.hierarchy.dateformat]
    if not formats:
        return source, columns
    first = formats[0]
    other = ProposedHierarchy(f"dates, but not as source.csv.dateformat says: {first}")
    iso = any(c.hierarchy and "dates" in (c.hierarchy.spec or {}) and not c.hierarchy.dateformat for c in columns)
    kept = None if iso else first
    shown = [
        replace(c, hierarchy=other) if c.hierarchy and c.hierarchy.dateformat not in (None, kept) else c
        for c in columns
    ]
    return replace(source, csv=replace(source.csv, dateformat=kept)), shown


def _must_have_something(columns: list[ProposedColumn]) -> None:
    if not any(c.role == QUASI_IDENTIFIER for c in columns):
        what = "no column is left that others may know of a person"
        raise SourceError([Fault("SOURCE", what, "name a quasi-identifier with --qi")])


def _unmapped(columns: list[ProposedColumn], rows: int) -> str | None:
    """What becomes of values that a hierarchy does not list: few of them are left out, many are shown as the top."""
    gaps = sum(c.hierarchy.gaps for c in columns if c.hierarchy)
    if not gaps:
        return None
    return "suppress" if gaps <= _SUPPRESSIBLE * rows else "top"
