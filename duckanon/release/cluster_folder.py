"""A release that is a folder of files which a cluster writes, at an address that all its servers see."""

from __future__ import annotations

import hashlib
from contextlib import suppress

from sqlglot import exp

from duckanon.census.source import BoundSource
from duckanon.engine import Engine, Relation, Warehouse
from duckanon.engine.folders import Folders
from duckanon.engine.marks import is_mark
from duckanon.engine.scratch import Scratch
from duckanon.errors import EngineError, Message, ReleaseError
from duckanon.policy import Policy
from duckanon.query.counts import RowCounts
from duckanon.query.expressions import column, drop, sql
from duckanon.recoding import Recoding
from duckanon.recoding.sent_cells import rows_afar
from duckanon.release.mark import made_by


def folders_of(warehouse: Warehouse) -> Folders:
    """Those of a warehouse that writes such."""
    if warehouse.folders is None:
        what = "is an address, and files are written where duckanon runs"
        raise ReleaseError(f"release.to: {what}; name a path, or release a table")
    return warehouse.folders


class ClusterFolderTarget:
    """Built as a table of the warehouse, verified there, then written from it. No rename lets a whole folder in: who
    reads it while it is written may find a part."""

    def __init__(self, policy: Policy, warehouse: Warehouse, replace: bool) -> None:
        self.policy, self.warehouse, self.replace = policy, warehouse, replace
        self.folders = folders_of(warehouse)
        self.release, self.address = policy.release, policy.release.to
        self.sent = Scratch(warehouse)  # what it is made of
        self.built: Relation | None = None
        self._must_be_free()

    def _must_be_free(self) -> None:
        """Not even with --replace anything is removed that no release has written."""
        mark = self.folders.mark(self.address)
        if made_by(mark, self.policy):
            return
        if mark is None and not self.folders.holds_files(self.address):
            return
        if not is_mark(mark):
            what = "holds files, or has a folder .duckanon beside it, and is no release of any policy"
            raise ReleaseError(f"release.to: {self.address} {what}; remove it yourself, or choose another name")
        if not self.replace:
            what = "exists and was not made by this policy"
            raise ReleaseError(f"release.to: {self.address} {what}; choose another name, or replace it with --replace")

    @property
    def home(self) -> Engine:
        return self.warehouse

    def must_not_be(self, source: BoundSource) -> None:
        """The files of a table are no release of any policy."""

    def query(self, recoding: Recoding, source: BoundSource, mark: str, scratch: Scratch) -> exp.Query:
        return rows_afar(recoding, source, self.sent)

    def build(self, query: exp.Query, mark: str, scratch: Scratch) -> Relation:
        named = hashlib.sha256(self.address.encode()).hexdigest()[:16]
        self.built = self.warehouse.publish(self.warehouse.target(f"duckanon_{named}"), query, mark)
        self.sent.clear()
        if self.release.kind == "csv":
            self._must_tell_null(self.built)
        return self.built

    def _must_tell_null(self, built: Relation) -> None:
        """No server quotes a text since it looks like a NULL."""
        null = exp.Literal.string(self.release.options.null)
        texts = self._texts(built)
        alike = [sql("COALESCE(MAX(CASE WHEN :text = :null THEN 1 END), 0)", text=t, null=null) for t in texts.values()]
        (found,) = self.warehouse.fetch(exp.select(*alike).from_(built.table))
        for name, is_alike in zip(texts, found, strict=True):
            if is_alike:
                raise ReleaseError(f"release.null: {name} has a text that looks the same; choose another one")

    def _texts(self, built: Relation) -> dict[str, exp.Expr]:
        return {c.name: c.type.text(column(c.name)) for c in self.warehouse.columns(built.table)}

    def _rows(self, built: Relation) -> exp.Query:
        """In a CSV file every value is the text that it is known by elsewhere."""
        if self.release.kind != "csv":
            return exp.select("*").from_(built.table)
        named = (text.as_(name, quoted=True) for name, text in self._texts(built).items())
        return exp.select(*named).from_(built.table)

    def fingerprint(self, released: Relation, counts: RowCounts, counted: Engine) -> None:
        return None

    def let_in(self, mark: str) -> None:
        """Files have no part in the transaction."""

    def settle(self, mark: str) -> None:
        """Whoever came to this place since it was found free keeps it. It is ours before it holds anything."""
        assert self.built is not None
        try:
            self._must_be_free()
            self.folders.say_whose(self.address, mark)
            self.folders.write(self._rows(self.built), self.release)
        except EngineError as error:
            what, remedy = (
                f"release.to: {self.address} cannot be written: ",
                "; it may hold a part of a release: run again",
            )
            raise ReleaseError(Message.of(what, error.message, remedy)) from error
        finally:
            self.abandon()

    def abandon(self) -> None:
        """What a server that has gone keeps is dropped by the next run."""
        if self.built is not None:
            with suppress(EngineError):
                self.warehouse.execute(drop("TABLE", self.built.table))
