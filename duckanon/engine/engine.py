"""What can be asked, whatever it is: a warehouse or the workbench."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from duckanon.engine.types import Column


class Engine(Protocol):
    """A database that takes statements in its own dialect."""

    @property
    def dialect(self) -> type[Dialect]: ...
    def execute(self, statement: exp.Expr, note: str = "", bound: Mapping[str, bytes] | None = None) -> None: ...
    def fetch(self, query: exp.Expr | str, note: str = "") -> list[tuple[Any, ...]]: ...
    def columns(self, relation: exp.Table) -> list[Column]: ...
