"""The two tables of the ledger: made, checked, written and read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields, replace
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

import sqlglot
from sqlglot import exp

from duckanon import resources
from duckanon.engine import Warehouse
from duckanon.errors import EngineError
from duckanon.query.dialects import WORKBENCH
from duckanon.query.expressions import all_of, column, literal, sql
from duckanon.query.names import folded, quoted

SCHEMA = "duckanon"


@dataclass(frozen=True, kw_only=True)
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
    levels: str | None = None
    rows_source: int | None = None
    rows_released: int | None = None
    rows_suppressed: int | None = None
    classes: int | None = None
    ncp: float | None = None
    precision: float | None = None
    discernibility: float | None = None
    seconds: float
    policy_hash: str
    hierarchy_hash: str | None = None
    source_fingerprint: str | None = None
    version: str
    message: str | None = None
    recorded: int | None = None  # given by the ledger
    started_at: datetime | None = None
    policy_text: str | None = None
    shows: str | None = None
    warnings: str | None = None
    release_fingerprint: str | None = None


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
_FIRST_COLUMNS = COLUMNS[: COLUMNS.index("recorded")]  # those of the first version
_TABLES = {
    "releases": (COLUMNS, _FIRST_COLUMNS),
    "release_constraints": (tuple(f.name for f in fields(ConstraintEntry)),),
}


class _Found(NamedTuple):
    """A table of the ledger, as the catalog spells it, and its columns: those of this version or of an earlier one."""

    table: exp.Table
    columns: tuple[str, ...]


class LedgerTables:
    """The ledger's tables as they are found in one database. Tables of these names that are not ours are an error."""

    def __init__(self, warehouse: Warehouse) -> None:
        self.warehouse = warehouse
        self._found = self._find_all()

    @property
    def exist(self) -> bool:
        """Whether both are there."""
        return len(self._found) == len(_TABLES)

    def _find_all(self) -> dict[str, _Found]:
        return {name: found for name in _TABLES if (found := self._find(name))}

    def _find(self, name: str) -> _Found | None:
        relation = self.warehouse.find(quoted(SCHEMA, name))
        if relation is None or [folded(part) for part in relation.parts[-2:]] != [SCHEMA, name]:
            return None
        columns = tuple(c.name for c in self.warehouse.columns(relation.table))
        if relation.kind != "table" or columns not in _TABLES[name]:
            raise EngineError(
                f"{self.warehouse.location}: {SCHEMA}.{name} is not the ledger of this version of duckanon; "
                "rename it, or name another file in ledger.database"
            )
        return _Found(relation.table, columns)

    def make(self) -> None:
        """Make what is missing: all of it, or what an earlier version had not; inside the caller's transaction."""
        scripts = []
        if not self.exist:
            scripts = ["ledger.sql"]
        elif self._found["releases"].columns != COLUMNS:
            scripts = ["ledger_upgrade.sql", "ledger.sql"]
        if scripts:
            self.warehouse.make_our_schema()
        for statement in (statement for name in scripts for statement in _script(name)):
            self.warehouse.execute(statement)
        self._found = self._find_all() if scripts else self._found

    def add(self, entry: Entry, constraints: Iterable[ConstraintEntry]) -> None:
        """Record a run, after all that are recorded already; inside the caller's transaction."""
        self.make()
        last = exp.select(sql("COALESCE(MAX(recorded), 0)")).from_(self._table("releases"))
        ((recorded,),) = self.warehouse.fetch(last)
        self._insert("releases", [replace(entry, recorded=recorded + 1)])
        self._insert("release_constraints", list(constraints))

    def _insert(self, name: str, rows: list[Any]) -> None:
        if rows:
            values = exp.values([tuple(_value(cell) for cell in astuple(row)) for row in rows])
            self.warehouse.execute(exp.insert(values, self._table(name)))

    def entries(self, limit: int | None = None, **wanted: str | None) -> list[Entry]:
        """The runs whose columns have the wanted values, the last recorded first."""
        found = self._found["releases"]
        same = [exp.NullSafeEQ(this=column(name), expression=literal(value)) for name, value in wanted.items()]
        known = found.columns
        query = exp.select(*(column(name) for name in known)).from_(found.table)
        order = column("recorded") if "recorded" in known else self.warehouse.written_order()
        query = query.where(all_of(same)).order_by(exp.Ordered(this=order, desc=True))
        rows = self.warehouse.fetch(query if limit is None else query.limit(limit))
        return [Entry(**dict(zip(known, row, strict=True))) for row in rows]

    def constraints(self) -> dict[str, list[ConstraintEntry]]:
        """The constraints of every run, by its id."""
        found: dict[str, list[ConstraintEntry]] = {}
        query = exp.select(*(column(f.name) for f in fields(ConstraintEntry)))
        for row in self.warehouse.fetch(
            query.from_(self._table("release_constraints")).order_by(self.warehouse.written_order())
        ):
            found.setdefault(row[0], []).append(ConstraintEntry(*row))
        return found

    def _table(self, name: str) -> exp.Table:
        return self._found[name].table


@cache
def _script(name: str) -> tuple[exp.Expr, ...]:
    text = (resources.folder("sql") / name).read_text(encoding="utf-8")
    return tuple(statement for statement in sqlglot.parse(text, dialect=WORKBENCH) if statement is not None)


def _value(cell: Any) -> exp.Expr:
    if isinstance(cell, float):
        return exp.Literal.number(repr(cell)) if cell >= 0 else exp.Neg(this=exp.Literal.number(repr(-cell)))
    if isinstance(cell, bool):
        return exp.true() if cell else exp.false()
    return literal(cell.isoformat(sep=" ") if isinstance(cell, datetime) else cell)
