"""The table of people, wherever it lies, with the role of each of its columns."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from duckanon.census.collations import HAS_COLLATION, collated
from duckanon.census.population import BoundPopulation, bind_population
from duckanon.census.pseudonyms import Pseudonym
from duckanon.census.reading import hashed_columns, reading_of
from duckanon.engine import Column, Relation, Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.engine.types import TEXT, Family, Type
from duckanon.errors import Fault, Message, SourceError, Value
from duckanon.models import Numbers
from duckanon.models.registry import models_of
from duckanon.policy import (
    MappingFile,
    MappingTable,
    Mask,
    Policy,
    Prefixes,
    QuasiIdentifier,
    Sensitive,
)
from duckanon.query.names import folded, quoted


@dataclass(frozen=True)
class BoundSource:
    """The source as a relation that queries can name, its columns spelled as the catalog spells them."""

    warehouse: Warehouse
    relation: Relation
    quasi_identifiers: tuple[tuple[QuasiIdentifier, Column], ...]
    sensitive: tuple[tuple[Sensitive, Column], ...]
    keep: tuple[Column, ...]  # as they are, then pseudonyms
    identifiers: tuple[Column, ...]  # what names a person: never released, or as pseudonyms
    entity: Column | None  # whose values are the people that are counted; None: rows are
    released: tuple[str, ...]  # the columns of a release, in the source's order
    population: BoundPopulation | None = None

    @property
    def table(self) -> exp.Table:
        return self.relation.table

    def must_be_as_bound(self, policy: Policy) -> None:
        """It was bound before the transaction began, and somebody else may have changed its columns since."""
        if self.warehouse.is_workbench:
            return  # whose files are ours
        bound = [c for _, c in (*self.quasi_identifiers, *self.sensitive)]
        bound += [c for c in self.keep if not isinstance(c, Pseudonym)]
        changed = self._changed(self.table, bound)
        changed += self._changed(self.population.table, self.population.columns) if self.population else []
        if changed:
            raise SourceError([Fault(name, "was changed under way", "run again") for name in changed], policy.file)

    def _changed(self, rows: exp.Table, bound: Iterable[Column]) -> list[str]:
        now = {c.name: c.type for c in self.warehouse.columns(rows)}
        return [c.name for c in bound if now and now.get(c.name, c.type) != c.type]


def bind_source(policy: Policy, warehouse: Warehouse, scratch: Scratch, key: bytes | None = None) -> BoundSource:
    """Find the source and check that every column has a role and every role a column. `key`: of the pseudonyms, where
    some are to be made."""
    relation = define_source(policy, warehouse, scratch)
    columns = [replace(c, written=c.name in relation.written) for c in warehouse.columns(relation.table)]
    by_name = {folded(c.name): c for c in columns}
    _must_differ(policy, columns)
    roles = {
        "quasi_identifiers": [q.column for q in policy.quasi_identifiers],
        "sensitive": [s.column for s in policy.sensitive],
        "columns.identifiers": list(policy.identifiers),
        "columns.drop": list(policy.drop),
        "columns.keep": list(policy.keep),
        "columns.pseudonyms": list(hashed_columns(policy)),
        "privacy.entity": [policy.entity] if policy.entity is not None else [],
    }
    named = {folded(name) for names in roles.values() for name in names}
    spelled = _spelled(policy, columns, named)
    faults = [
        Fault(f"{role}: {name}", "there is no such column in the source", _nearest(name, spelled))
        for role, names in roles.items()
        for name in names
        if folded(name) not in by_name
    ]
    remedy = "list it under identifiers, drop, keep or another role"
    faults += [
        Fault(name, "is a column of the source without a role", remedy)
        for key, name in spelled.items()
        if key not in named
    ]
    if faults:
        raise SourceError(faults, policy.file)
    hashed = {folded(name) for name in hashed_columns(policy)}
    dropped = {folded(name) for name in policy.drop}
    hidden = {folded(name) for name in (*policy.identifiers, *roles["privacy.entity"])} - hashed | dropped
    entity = by_name[folded(policy.entity)] if policy.entity is not None else None
    compared = [c for c in columns if folded(c.name) not in hidden or c is entity]
    _comparable(policy, compared, relation, warehouse)
    if policy.profile is not None:
        from duckanon.census.safe_harbor import safe_harbor_faults  # which few policies ask for

        if faults := list(safe_harbor_faults(policy, compared, relation, warehouse)):
            raise SourceError(faults, policy.file)
    quasi_identifiers = tuple((q, by_name[folded(q.column)]) for q in policy.quasi_identifiers)
    return BoundSource(
        warehouse,
        relation,
        quasi_identifiers,
        tuple((s, by_name[folded(s.column)]) for s in policy.sensitive),
        (
            *(by_name[folded(name)] for name in policy.keep),
            *(Pseudonym(by_name[folded(name)].name, TEXT, key) for name in hashed_columns(policy)),
        ),
        tuple(c for c in columns if folded(c.name) in (hidden | hashed) - dropped),
        entity,
        tuple(c.name for c in columns if folded(c.name) not in hidden),
        bind_population(policy, warehouse, scratch, [c for _, c in quasi_identifiers]),
    )


def _must_differ(policy: Policy, columns: list[Column]) -> None:
    """Where an engine tells names apart that differ by case only, nobody could tell which of them a policy means."""
    spelled: dict[str, list[str]] = {}
    for c in columns:
        spelled.setdefault(folded(c.name), []).append(c.name)
    what = "are columns whose names differ by case only, so no role could tell them apart"
    faults = [
        Fault(" and ".join(map(quoted, names)), what, "give one of them another name in source.query")
        for names in spelled.values()
        if len(names) > 1
    ]
    if faults:
        raise SourceError(faults, policy.file)


def _comparable(policy: Policy, columns: list[Column], relation: Relation, warehouse: Warehouse) -> None:
    """Refuse columns in which values that look different count as equal: no class of theirs could be trusted."""
    hashed = {folded(name) for name in hashed_columns(policy)}
    generalized = {folded(q.column) for q in policy.quasi_identifiers}
    single = generalized | {folded(s.column) for s in policy.sensitive}
    single |= {folded(policy.entity)} if policy.entity is not None else set()
    faults = []
    for c in columns:
        if not c.type.comparable:
            faults.append(Fault(c.name, f"is of type {c.type}, which cannot be released", c.type.remedy))
        elif folded(c.name) in single | hashed and c.type.is_nested:
            faults.append(Fault(c.name, f"is of type {c.type}, not a single value", "cast it in source.query"))
        elif folded(c.name) in hashed and (c.type.is_float or c.type.zoned):
            # -0.0 equals 0.0, and a moment is written in the time zone of who asks: neither could have one pseudonym.
            what = f"is of type {c.type}, whose text can change while the value does not"
            faults.append(Fault(c.name, what, "cast it in source.query, to BIGINT or VARCHAR"))
        elif policy.release.kind == "view" and folded(c.name) in generalized and c.type.zoned:
            # Who reads it in one time zone after the other sees in which hours of a month, say, somebody was born.
            what = f"is of type {c.type}: the readers of a view choose the time zone of its labels"
            faults.append(Fault(c.name, what, "cast it in source.query: column AT TIME ZONE 'UTC'"))
        elif folded(c.name) in _named_by_text(policy, warehouse, c.type):
            # What is named by its text would be another value, or none, to who has it written otherwise.
            what = f"is of type {c.type}, whose text the session of who asks decides, and is named by it"
            faults.append(Fault(c.name, what, "cast it to a text in source.query, in a form of your own"))
    # A file has no collations, and asking it means to guess its format once more.
    if policy.source.file is None and not faults:
        remedy = "take the collation off in source.query: decode(encode(column))"
        faults += [Fault(name, HAS_COLLATION, remedy) for name in collated(columns, relation, warehouse)]
    if faults:
        raise SourceError(faults, policy.file)


def _named_by_text(policy: Policy, warehouse: Warehouse, type_: Type) -> set[str]:
    """The columns whose values are found by a text that is not the same to all: of a view to each of its readers, of a
    moment in another engine than the workbench to both."""
    listed = (Mask, Prefixes, MappingFile, MappingTable)
    named = [s for s in policy.sensitive if s.values or s.levels or isinstance(s.hierarchy, listed)]
    sensitive = {folded(s.column) for s in named}
    generalized = {folded(q.column): q.hierarchy for q in policy.quasi_identifiers}
    if policy.release.kind != "view":
        return sensitive if type_.zoned and not warehouse.is_workbench else set()
    if type_.has_one_text:
        return set()
    if type_.family in (Family.OTHER, Family.LIST):
        return sensitive | set(generalized)
    as_texts = policy.unmapped == "top" and type_.is_float  # what is shown beside the top is a text
    return sensitive | {name for name, kind in generalized.items() if as_texts or isinstance(kind, listed)}


def is_at_hand(policy: Policy, source: BoundSource) -> bool:
    """Whether the rows are the workbench's own, and the same whenever they are read, which what a query or view gives
    may not be."""
    lasting = policy.source.file is not None or source.relation.kind == "table"
    return lasting and source.warehouse.is_workbench and policy.search.where == "workbench"


def must_be_there(policy: Policy, warehouse: Warehouse) -> Relation | None:
    """The table of the source. Asked before anything is said of the target: that may be the table that was meant."""
    named = policy.source.table
    relation = warehouse.find(named) if named is not None else None
    if named is not None and relation is None:
        what = f"there is no table or view '{named}' in {warehouse.location}"
        raise SourceError([Fault("source.table", what, warehouse.nearest(named))], policy.file)
    return relation


def define_source(
    policy: Policy, warehouse: Warehouse, scratch: Scratch, persistent: exp.Table | None = None
) -> Relation:
    """The relation that holds the source rows; a query or file becomes a view, temporary unless
    `persistent` names it."""
    source = policy.source
    named = must_be_there(policy, warehouse)
    if named is not None:
        return named
    rows = scratch.adopt("TABLE", "source_rows", warehouse) if source.file is not None and persistent is None else None
    name = persistent if persistent is not None else scratch.adopt("VIEW", "source", warehouse)
    if source.query is not None:
        warehouse.define_query(name, source.query, temporary=persistent is None)
    else:
        assert source.file is not None
        read = warehouse.define_file(name, source.file, reading_of(policy), rows)
        if read.misfits or source.csv.types:
            _must_be_written_so(policy, read.misfits, warehouse.columns(name))
        return Relation(tuple(part.name for part in name.parts), "view", written=read.texts)
    return Relation(tuple(part.name for part in name.parts), "view")


def _must_be_written_so(policy: Policy, misfits: dict[str, int], columns: list[Column]) -> None:
    """The columns of a CSV file are written as the rules need them, or it is said how many fields are not."""
    fields = {folded(name): f"{count:,} field{'s' if count > 1 else ''}" for name, count in misfits.items()}
    spelled = _spelled(policy, columns, set())
    remedy = "clean the file, or list what stands for no value under source.csv.null"
    faults = [
        Fault(f"source.csv.types: {name}", "there is no such column in the source", _nearest(name, spelled))
        for name in policy.source.csv.types
        if folded(name) not in spelled
    ]
    typed = {folded(name): type_ for name, type_ in policy.source.csv.types.items()}
    faults += [
        Fault(
            f"source.csv.types.{name}",
            f"{fields[folded(name)]} of the column cannot be read as {type_}",
            f"choose another type, {remedy}",
        )
        for name, type_ in policy.source.csv.types.items()
        if folded(name) in fields
    ]
    for q in policy.quasi_identifiers:
        if folded(q.column) not in fields or folded(q.column) in typed:
            continue
        said = f"there is no date as source.csv.dateformat says in {fields[folded(q.column)]} of the file"
        faults.append(Fault(f"quasi_identifiers.{q.column}.hierarchy", said, f"is the format right? If so, {remedy}"))
    for s in policy.sensitive:
        if folded(s.column) in fields and folded(s.column) not in typed:
            said = f"needs numbers, and there is something else in {fields[folded(s.column)]} of the file"
            needing = [model.written for model in models_of(s) if model.numbers is Numbers.NEEDED]
            faults += [Fault(f"sensitive.{s.column}.{key}", said, remedy) for key in needing]
    if faults:
        raise SourceError(faults, policy.file)


def _spelled(policy: Policy, columns: list[Column], named: set[str]) -> dict[str, str]:
    """The columns as the source spells them. What a file calls a column that is not `named` by the policy is a value:
    where a header is lost, or a key is new, it may be a person's."""
    said = policy.source.file is None
    return {key: c.name if said or key in named else Value(c.name) for c in columns for key in [folded(c.name)]}


def _nearest(name: str, spelled: dict[str, str]) -> Message:
    near = difflib.get_close_matches(folded(name), list(spelled), n=1)
    if near:
        found = spelled[near[0]]
        return Message.of("did you mean ", Value(quoted(found)) if isinstance(found, Value) else quoted(found), "?")
    return Message.of("it has ", Message.joined(", ", list(spelled.values())[:20]))
