"""The seam between the driver and a database: all that a run asks of an engine."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from sqlglot import exp

from duckanon.policy import CsvOptions, Release
from duckanon.query.expressions import table
from duckanon.query.names import quoted


@dataclass(frozen=True)
class Column:
    """A column as the catalog spells it, with its type in the engine's words."""

    name: str
    type: str
    written: bool = field(default=False, kw_only=True)  # a text of a CSV file, which may stand for a number or a date


@dataclass(frozen=True)
class Relation:
    """A table or view, spelled as the catalog spells it: `parts` is what a statement needs to name it."""

    parts: tuple[str, ...]
    kind: str  # table | view
    comment: str | None = None
    written: frozenset[str] = frozenset()  # the columns that are texts of a CSV file, as they stand there

    @property
    def spelled(self) -> str:
        return quoted(*self.parts)

    @property
    def table(self) -> exp.Table:
        return table(*self.parts)


@dataclass(frozen=True)
class Reading:
    """How the columns of a file are read that no catalog gives a type: names in any case."""

    texts: tuple[str, ...] = ()  # folders' names say them as they are written, so that 02139 keeps its zero
    numbers: tuple[str, ...] = ()  # of a CSV file: a rule needs them as numbers, if they are all written as such
    dates: tuple[str, ...] = ()  # likewise as dates, if source.csv.dateformat says how they are written; else as texts
    ranges: tuple[str, ...] = ()  # numbers, as texts; or dates, likewise
    figures: tuple[str, ...] = ()  # numbers, if reading them so changes no field
    csv: CsvOptions = field(default_factory=CsvOptions)


@dataclass(frozen=True)
class ReadFile:
    """What came of the columns of a CSV file; of other files nothing is to be said."""

    misfits: dict[str, int] = field(default_factory=dict)  # so many fields are not written as a rule needs them
    texts: frozenset[str] = frozenset()  # columns that are what stands in the file, and of no type that was asked for


@dataclass(frozen=True)
class Executed:
    """A statement that was executed, with a note on its purpose if it has one."""

    note: str
    statement: exp.Expr | str

    @property
    def makes(self) -> bool:
        """Whether it makes or drops something."""
        if isinstance(self.statement, str):
            return self.statement.lstrip().startswith(("CREATE", "DROP"))
        return isinstance(self.statement, (exp.Create, exp.Drop))


class Engine(Protocol):
    """One connection to one warehouse. Nothing else in the package holds a connection."""

    dialect: str
    location: str  # how messages call the database
    persistent: bool  # whether a table made here outlives the process

    def traced(self) -> AbstractContextManager[list[Executed]]: ...
    def execute(self, statement: exp.Expr, note: str = "", bound: Mapping[str, bytes] | None = None) -> None: ...
    def fetch(self, query: exp.Expr | str, note: str = "") -> list[tuple[Any, ...]]: ...
    def columns(self, relation: exp.Table) -> list[Column]: ...
    def is_number(self, column: Column) -> bool: ...
    def is_date(self, column: Column) -> bool: ...
    def find(self, spelled: str) -> Relation | None: ...
    def definition(self, relation: Relation) -> str | None: ...
    def nearest(self, spelled: str) -> str: ...
    def relations(self, schema: str) -> list[Relation]: ...
    def target(self, spelled: str) -> Relation: ...
    def define_query(self, name: exp.Table, query: str, temporary: bool) -> None: ...
    def define_file(self, name: exp.Table, path: str, reading: Reading, rows: exp.Table | None) -> ReadFile: ...
    def source_files(self, path: str) -> list[Path]: ...
    def source_patterns(self, path: str) -> list[str]: ...
    def database_files(self) -> list[Path]: ...
    def define_mapping(self, name: exp.Table, path: Path, width: int, delimiter: str, header: bool) -> None: ...
    def define_release(self, name: exp.Table, path: Path, release: Release, columns: list[Column]) -> None: ...
    def release_columns(self, path: Path, release: Release) -> list[str]: ...
    def define_dictionary(self, name: exp.Table, kind: exp.Table, labels: exp.Table) -> bool: ...
    def macro(self, name: str, *arguments: exp.Expr) -> exp.Table: ...
    def write_file(self, query: exp.Query, path: Path, release: Release, metadata: dict[str, str]) -> None: ...
    def read_mark(self, path: Path) -> str | None: ...
    def must_have_room_for_our_schema(self) -> None: ...
    def comment(self, relation: Relation, said: str) -> None: ...
    def transaction(self) -> AbstractContextManager[None]: ...
    def close(self) -> None: ...
