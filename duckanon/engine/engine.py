"""What can be asked: the workbench, and every warehouse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from duckanon.engine.types import Column


class Engine(Protocol):
    """A database that statements are executed in, over relations that lie there."""

    @property
    def dialect(self) -> type[Dialect]:
        """What its statements are said in."""
        ...

    @property
    def temporary_tables(self) -> bool:
        """Whether it can keep the rows of a query for the length of a session."""
        ...

    def execute(self, statement: exp.Expr, note: str = "", bound: Mapping[str, bytes] | None = None) -> None: ...
    def make_temporary(
        self, kind: str, name: exp.Table, query: exp.Query, note: str, bound: Mapping[str, bytes] | None = None
    ) -> None:
        """A TABLE or VIEW for the length of a session. `bound`: parameters that no text may hold."""

    def drop_temporary(self, kind: str, name: exp.Table) -> None: ...
    def fetch(self, query: exp.Expr | str, note: str = "") -> list[tuple[Any, ...]]: ...
    def columns(self, relation: exp.Table) -> list[Column]: ...
