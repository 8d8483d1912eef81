"""The table of people, wherever it lies, with the role of each of its columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from duckanon.engine import Column, Relation
from duckanon.engine.names import quoted
from duckanon.errors import Fault, PolicyError
from duckanon.policy import MappingFile, MappingTable, Mask, Policy, QuasiIdentifier, Sensitive
from duckanon.scratch import Scratch


@dataclass(frozen=True)
class BoundSource:
    """The source as a relation that queries can name, its columns spelled as the catalog spells them."""

    relation: Relation
    quasi_identifiers: tuple[tuple[QuasiIdentifier, Column], ...]
    sensitive: tuple[tuple[Sensitive, Column], ...]
    keep: tuple[Column, ...]
    released: tuple[str, ...]  # the columns of a release, in the source's order

    @property
    def table(self) -> exp.Table:
        return self.relation.table


def bind_source(policy: Policy, scratch: Scratch) -> BoundSource:
    """Find the source and check that every column has a role and every role a column."""
    relation = define_source(policy, scratch)
    columns = scratch.engine.columns(relation.table)
    by_name = {column.name.lower(): column for column in columns}
    roles = {
        "quasi_identifiers": [q.column for q in policy.quasi_identifiers],
        "sensitive": [s.column for s in policy.sensitive],
        "columns.identifiers": list(policy.identifiers),
        "columns.keep": list(policy.keep),
    }
    faults = [
        Fault(f"{role}: {name}", "there is no such column in the source", _nearest(name, columns))
        for role, names in roles.items()
        for name in names
        if name.lower() not in by_name
    ]
    named = {name.lower() for names in roles.values() for name in names}
    faults += [
        Fault(
            column.name, "is a column of the source without a role", "list it under identifiers, keep or another role"
        )
        for column in columns
        if column.name.lower() not in named
    ]
    if faults:
        raise PolicyError(faults, policy.file)
    hidden = {name.lower() for name in policy.identifiers}
    return BoundSource(
        relation,
        tuple((q, by_name[q.column.lower()]) for q in policy.quasi_identifiers),
        tuple((s, by_name[s.column.lower()]) for s in policy.sensitive),
        tuple(by_name[name.lower()] for name in policy.keep),
        tuple(column.name for column in columns if column.name.lower() not in hidden),
    )


def define_source(policy: Policy, scratch: Scratch, persistent: exp.Table | None = None) -> Relation:
    """The relation that holds the source rows; a query or file becomes a view, temporary unless
    `persistent` names it."""
    engine, source = scratch.engine, policy.source
    if source.table is not None:
        relation = engine.find(source.table)
        if relation is None:
            what = f"there is no table or view '{source.table}' in {engine.location}"
            raise PolicyError([Fault("source.table", what, "spell it as in SQL, with its schema")], policy.file)
        return relation
    name = persistent if persistent is not None else scratch.adopt("VIEW", "source")
    if source.query is not None:
        engine.define_query(name, source.query, temporary=persistent is None)
    else:
        assert source.file is not None
        engine.define_file(name, source.file, list(_read_as_text(policy)), temporary=persistent is None)
    return Relation(tuple(part.name for part in name.parts), "view")


def _read_as_text(policy: Policy) -> Iterable[str]:
    """Columns whose hierarchy works on text: a CSV reader must not take the zero off 02139."""
    for quasi_identifier in policy.quasi_identifiers:
        if isinstance(quasi_identifier.hierarchy, (Mask, MappingFile, MappingTable)):
            yield quasi_identifier.column


def _nearest(name: str, columns: list[Column]) -> str:
    import difflib

    near = difflib.get_close_matches(name.lower(), [c.name.lower() for c in columns], n=1)
    spelled = {c.name.lower(): c.name for c in columns}
    return f"did you mean {quoted(spelled[near[0]])}?" if near else f"it has {', '.join(c.name for c in columns[:20])}"
