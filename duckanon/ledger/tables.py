"""The two tables of the ledger: made, checked, written and read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from datetime import datetime
from functools import cache
from typing import Any

import sqlglot
from sqlglot import exp

from duckanon import resources
from duckanon.engine import Engine, Relation
from duckanon.engine.names import folded, quoted
from duckanon.errors import EngineError
from duckanon.expressions import DIALECT, all_of, column, literal, sql

SCHEMA = "duckanon"


@dataclass(frozen=True)
class Entry:
    """One row of duckanon.releases: its fields are the table's columns, which sql/ledger.sql explains."""

    id: str
    finished_at: datetime
    policy: str
    outcome: str
    warehouse: str | None
    target_kind: str
    target_place: str
    method: str
    levels: str | None
    rows_source: int | None
    rows_released: int | None
    rows_suppressed: int | None
    classes: int | None
    ncp: float | None
    precision: float | None
    discernibility: float | None
    seconds: float
    policy_hash: str
    hierarchy_hash: str | None
    source_fingerprint: str | None
    version: str
    message: str | None


@dataclass(frozen=True)
class ConstraintEntry:
    """One row of duckanon.release_constraints."""

    release_id: str
    name: str
    column_name: str | None
    value: str | None
    threshold: float | None
    measured: float | None
    holds: bool


COLUMNS = tuple(f.name for f in fields(Entry))
_TABLES: dict[str, type[Entry] | type[ConstraintEntry]] = {"releases": Entry, "release_constraints": ConstraintEntry}


class LedgerTables:
    """The ledger's tables in one database."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def exist(self) -> bool:
        """Whether both are there. Tables of these names that are not ours are an error."""
        found = [self._found(name) for name in _TABLES]
        return None not in found

    def _found(self, name: str) -> Relation | None:
        found = self.engine.find(quoted(SCHEMA, name))
        if found is None or [folded(part) for part in found.parts[-2:]] != [SCHEMA, name]:
            return None
        columns = [c.name for c in self.engine.columns(found.table)]
        if found.kind != "table" or columns != [f.name for f in fields(_TABLES[name])]:
            raise EngineError(
                f"{self.engine.location}: {SCHEMA}.{name} is not the ledger of this version of duckanon; "
                "rename it, or name another file in ledger.database"
            )
        return found

    def make(self) -> None:
        """Make what is missing; inside the caller's transaction."""
        if not self.exist():
            for statement in _script():
                self.engine.execute(statement.copy())

    def add(self, entry: Entry, constraints: Iterable[ConstraintEntry]) -> None:
        self._insert("releases", [entry])
        self._insert("release_constraints", list(constraints))

    def _insert(self, name: str, rows: list[Any]) -> None:
        if rows:
            values = exp.values([tuple(_value(cell) for cell in astuple(row)) for row in rows])
            self.engine.execute(exp.insert(values, self._table(name)))

    def entries(self, limit: int | None = None, **wanted: str | None) -> list[Entry]:
        """The runs whose columns have the wanted values, newest first."""
        same = [exp.NullSafeEQ(this=column(name), expression=literal(value)) for name, value in wanted.items()]
        query = exp.select(*(column(name) for name in COLUMNS)).from_(self._table("releases"))
        query = query.where(all_of(same)).order_by("finished_at DESC", "id")
        rows = self.engine.fetch(query if limit is None else query.limit(limit))
        return [Entry(*row) for row in rows]

    def constraints(self) -> dict[str, list[ConstraintEntry]]:
        """The constraints of every run, by its id."""
        found: dict[str, list[ConstraintEntry]] = {}
        query = exp.select(*(column(f.name) for f in fields(ConstraintEntry)))
        for row in self.engine.fetch(query.from_(self._table("release_constraints")).order_by(sql("rowid"))):
            found.setdefault(row[0], []).append(ConstraintEntry(*row))
        return found

    def _table(self, name: str) -> exp.Table:
        found = self._found(name)
        assert found is not None
        return found.table


@cache
def _script() -> tuple[exp.Expr, ...]:
    text = (resources.folder("sql") / "ledger.sql").read_text(encoding="utf-8")
    return tuple(statement for statement in sqlglot.parse(text, dialect=DIALECT) if statement is not None)


def _value(cell: Any) -> exp.Expr:
    if isinstance(cell, float):
        return exp.Literal.number(repr(cell)) if cell >= 0 else exp.Neg(this=exp.Literal.number(repr(-cell)))
    if isinstance(cell, bool):
        return exp.true() if cell else exp.false()
    return literal(cell.isoformat(sep=" ") if isinstance(cell, datetime) else cell)
