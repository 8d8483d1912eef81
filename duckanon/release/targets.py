"""Where a release goes, whether it may go there, and how it gets there whole or not at all."""

from __future__ import annotations

from typing import Protocol

from sqlglot import exp

from duckanon.census.source import BoundSource
from duckanon.engine import Engine, Relation, Warehouse, Workbench
from duckanon.engine.scratch import Scratch
from duckanon.errors import ReleaseError
from duckanon.policy import Policy
from duckanon.query.counts import RowCounts
from duckanon.recoding import Recoding
from duckanon.recoding.rows import AS_THEY_ARE
from duckanon.release.cluster_folder import ClusterFolderTarget
from duckanon.release.file import FileTarget
from duckanon.release.folder import FolderTarget
from duckanon.release.mark import made_by, mark_of
from duckanon.release.relation import RelationTarget

__all__ = ["FileTarget", "FolderTarget", "RelationTarget", "Target", "made_by", "mark_of", "open_target"]


class Target(Protocol):
    """A place for a release. `build` makes it and returns what to verify; `settle` lets the world see it."""

    @property
    def home(self) -> Engine:
        """Where what `build` makes can be asked."""

    def must_not_be(self, source: BoundSource) -> None: ...
    def query(self, recoding: Recoding, source: BoundSource, mark: str, scratch: Scratch) -> exp.Query:
        """What `build` makes the release of."""

    def build(self, query: exp.Query, mark: str, scratch: Scratch) -> Relation: ...
    def fingerprint(self, released: Relation, counts: RowCounts, counted: Engine) -> str | None:
        """Of what was built and counted, by which it is known again; None: it will not stand."""

    def let_in(self, mark: str) -> None:
        """Inside the run's transaction, when what was built has been verified."""

    def settle(self, mark: str) -> None:
        """When the transaction is over: the release takes its place, if it has not."""

    def abandon(self) -> None: ...


def open_target(policy: Policy, warehouse: Warehouse, replace: bool, dry_run: bool) -> Target:
    """The policy's target, checked for ownership before any work is done."""
    if policy.release.is_relation:
        if not warehouse.persistent:
            raise ReleaseError(
                f"release.kind: a {policy.release.kind} needs a database to stand in: "
                "name one in source.database or with --db, or release to parquet or csv"
            )
        if policy.release.kind == "view" and not warehouse.guards_views:
            what = "may compute what a reader asks for before a view has hidden anything"
            raise ReleaseError(f"release.kind: {warehouse.location} {what}, so none could be trusted; release a table")
        target: Target = RelationTarget(policy, warehouse, replace)
    elif policy.release.is_address:
        target = ClusterFolderTarget(policy, warehouse, replace)
    elif policy.release.options.partition_by:
        target = FolderTarget(policy, warehouse, replace)
    else:
        target = FileTarget(policy, warehouse, replace)
    return DryTarget(target, policy, warehouse.workbench) if dry_run else target


class DryTarget:
    """Checks all that a real target checks, and shows the release to the verification only."""

    def __init__(self, target: Target, policy: Policy, workbench: Workbench) -> None:
        self.target, self.policy, self.workbench = target, policy, workbench

    @property
    def home(self) -> Engine:
        return self.workbench

    def must_not_be(self, source: BoundSource) -> None:
        self.target.must_not_be(source)

    def query(self, recoding: Recoding, source: BoundSource, mark: str, scratch: Scratch) -> exp.Query:
        if self.policy.release.kind != "view" or not source.warehouse.is_workbench:
            return recoding.query(source, AS_THEY_ARE)
        assert recoding.view is not None  # no view is added to
        return recoding.view(source, source.table, lambda thing, rows: scratch.table(thing, rows, "kept for the view"))

    def build(self, query: exp.Query, mark: str, scratch: Scratch) -> Relation:
        name = scratch.view("release", query, "the release")
        return Relation((name.name,), "view")

    def fingerprint(self, released: Relation, counts: RowCounts, counted: Engine) -> None:
        return None

    def let_in(self, mark: str) -> None:
        pass

    def settle(self, mark: str) -> None:
        pass

    def abandon(self) -> None:
        pass
