"""A release that is a table or view of the warehouse."""

from __future__ import annotations

import hashlib

from sqlglot import exp

from duckanon.census.source import BoundSource, define_source, must_be_there
from duckanon.engine import Engine, Relation, Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.errors import EngineError, ReleaseError
from duckanon.policy import MappingTable, Policy
from duckanon.query.counts import RowCounts
from duckanon.query.expressions import drop, table
from duckanon.query.names import quoted
from duckanon.recoding import Recoding
from duckanon.recoding.rows import AS_THEY_ARE
from duckanon.recoding.sent_cells import rows_afar
from duckanon.recoding.view_rows import Keeper
from duckanon.release.fingerprints import relation_fingerprint
from duckanon.release.mark import made_by

SCHEMA = "duckanon"  # holds what a released view needs to stay true: its mapping tables, its source query
_LONGEST_THING = len("labels_9999")  # of those that are kept


class RelationTarget:
    """A table or view in the warehouse. It is made inside the run's transaction, so it appears whole or not at all."""

    def __init__(self, policy: Policy, warehouse: Warehouse, replace: bool) -> None:
        self.policy, self.warehouse, self.replace = policy, warehouse, replace
        self.sent = Scratch(warehouse)  # what a release afar is made of
        found = warehouse.find(policy.release.to)
        self.existing = found if found is not None and len(found.parts) > 1 else None
        place = warehouse.target(policy.release.to)
        self.place = Relation(self.existing.parts if self.existing else place.parts, policy.release.kind)
        self._must_not_be_named_as_source()
        if self.existing and not replace and not made_by(self.existing.comment, policy):
            raise ReleaseError(
                f"release.to: {policy.release.to} exists and was not made by this policy; "
                "choose another name, or replace it with --replace"
            )

    def _must_not_be_named_as_source(self) -> None:
        """Said first: --replace would not help."""
        source = must_be_there(self.policy, self.warehouse)
        if source is not None and source.parts == self.place.parts:
            raise ReleaseError(f"release.to: {self.policy.release.to} is the source itself; choose another name")

    def must_not_be(self, source: BoundSource) -> None:
        """A relation that is not the source, as was checked at the start."""

    @property
    def home(self) -> Engine:
        return self.warehouse

    def query(self, recoding: Recoding, source: BoundSource, mark: str, scratch: Scratch) -> exp.Query:
        if self.existing is not None:
            self.warehouse.make_way(self.existing)
            self._source_must_stand(self.existing)
        if self.place.kind != "view":
            here = self.warehouse.is_workbench
            return recoding.query(source, AS_THEY_ARE) if here else rows_afar(recoding, source, self.sent)
        assert recoding.view is not None  # no view is added to
        self.clear_kept()
        rows = source.table
        if self.policy.source.table is None:
            kept = define_source(self.policy, self.warehouse, scratch, persistent=self.kept_name("source"))
            self.warehouse.comment(kept, mark)
            rows = kept.table
        return recoding.view(source, rows, self.keeper(mark))

    def build(self, query: exp.Query, mark: str, scratch: Scratch) -> Relation:
        if self.place.kind != "view":
            self.clear_kept()
        self.published = self.warehouse.publish(self.place, query, mark)
        self.sent.clear()
        return self.published

    def let_in(self, mark: str) -> None:
        self.warehouse.let_in(self.published, self.place)

    def _source_must_stand(self, old: Relation) -> None:
        """With the old release gone the source must still be readable: or it was a part of the source."""
        inputs = [self.policy.source.table] if self.policy.source.table else []
        population = self.policy.population
        inputs += [population.table] if population and population.table else []
        inputs += [h.table for q in self.policy.quasi_identifiers if isinstance(h := q.hierarchy, MappingTable)]
        probe = Scratch(self.warehouse.workbench)
        try:
            found = [self.warehouse.find(name) for name in inputs]
            if self.policy.source.query is not None:
                found.append(define_source(self.policy, self.warehouse, probe))
            stand = all(relation is not None and self._stands_without(old, relation.table) for relation in found)
            probe.clear()
        except EngineError:
            stand = False
        if not stand:
            raise ReleaseError(f"release.to: {self.policy.release.to} is read by the source; choose another name")

    def _stands_without(self, old: Relation, rows: exp.Table) -> bool:
        self.warehouse.columns(rows)
        return not self.warehouse.is_read_by(rows, old)

    def keeper(self, mark: str) -> Keeper:
        """Keeps the tables that a view needs beside it, in a schema of their own."""

        def keep(thing: str, rows: exp.Query) -> exp.Table:
            name = self.kept_name(thing)
            self.warehouse.keep(name, rows, "kept for the view")
            self.warehouse.comment(Relation((SCHEMA, name.name), "table"), mark)
            return name

        return keep

    def kept_name(self, thing: str) -> exp.Table:
        """The name of an object kept for this view, free to be made."""
        self.warehouse.make_our_schema()
        name = self._kept_prefix + thing
        if self.warehouse.find(quoted(SCHEMA, name)) is not None:
            raise ReleaseError(f"{SCHEMA}.{name} exists and was not made by this policy; rename the policy")
        return table(SCHEMA, name)

    @property
    def _kept_prefix(self) -> str:
        """Of what is kept for this view. A name that an engine would cut is shortened here: to its beginning, and a
        hash of the whole."""
        prefix = f"{self.policy.name} for {'.'.join(self.place.parts)}: "
        most = self.warehouse.longest_name
        if most is None or len(prefix.encode()) + _LONGEST_THING <= most:
            return prefix
        end = f"… {hashlib.sha256(prefix.encode()).hexdigest()[:16]}: "
        begin = prefix.encode()[: most - _LONGEST_THING - len(end.encode())].decode(errors="ignore")
        return begin + end

    def clear_kept(self) -> None:
        """Drops what an earlier view of this policy, in this place, needed."""
        for kept in self.warehouse.relations(SCHEMA):
            if kept.parts[-1].startswith(self._kept_prefix) and made_by(kept.comment, self.policy):
                self.warehouse.execute(drop(kept.kind.upper(), kept.table))

    def fingerprint(self, released: Relation, counts: RowCounts, counted: Engine) -> str:
        return relation_fingerprint(released, self.warehouse, counts, counted)

    def settle(self, mark: str) -> None:
        pass

    def abandon(self) -> None:
        pass
