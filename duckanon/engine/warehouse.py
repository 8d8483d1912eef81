"""The warehouse: where the rows lie. All that a run asks of the database of its source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, Self

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from duckanon.engine.relation import ReadFile, Reading, Relation
from duckanon.engine.types import Column
from duckanon.engine.workbench import Workbench
from duckanon.policy import Release

# Hears how many rows are about to come to the workbench; it may raise, and none comes.
Told = Callable[[int], None]


class Warehouse(Protocol):
    """One connection to the database of the source, with the workbench that its counts are searched on.

    Rows are counted, recoded and published where they lie. Counts come to the workbench, labels go up from it; where
    both are one DuckDB, nothing is copied.
    """

    dialect: type[Dialect]  # what its statements are said in
    location: str  # how messages call it
    persistent: bool  # whether a table made here outlives the process

    @property
    def workbench(self) -> Workbench: ...
    @property
    def database(self) -> Path | None:
        """The file that it reads; None: it is in memory."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def close(self) -> None: ...

    # -- asking -----------------------------------------------------------------------------------

    def execute(self, statement: exp.Expr, note: str = "", bound: Mapping[str, bytes] | None = None) -> None: ...
    def fetch(self, query: exp.Expr | str, note: str = "") -> list[tuple[Any, ...]]: ...
    def transaction(self) -> AbstractContextManager[None]:
        """One view of the data, and all or nothing: what is made inside is gone if the block does not end well."""

    def collect(self, name: exp.Table, query: exp.Query, note: str, told: Told | None = None) -> None:
        """Count: a temporary table of the workbench, of that name, with the rows of a query to the warehouse."""

    def send(self, name: exp.Table, query: exp.Query, note: str) -> None:
        """A temporary table of the warehouse with the rows of a query to the workbench."""

    def keep(self, name: exp.Table, query: exp.Query, note: str) -> None:
        """A table of the warehouse, for good, with the few rows of a query to the workbench."""

    # -- the catalog ------------------------------------------------------------------------------

    def find(self, spelled: str) -> Relation | None:
        """The table or view of that name: as SQL spells it, or else an odd name given bare."""

    def nearest(self, spelled: str) -> str:
        """What to do about a name that means no table or view: the one that was meant, or what there is."""

    def columns(self, relation: exp.Table) -> list[Column]: ...
    def definition(self, relation: Relation) -> str | None:
        """The query of a view; None: it is a table."""

    def relations(self, schema: str) -> list[Relation]:
        """The tables and views of a schema of this database."""

    def target(self, spelled: str) -> Relation:
        """Where a new table or view of that name would stand."""

    def must_have_room_for_our_schema(self) -> None:
        """Raises where no name of a schema duckanon could be resolved."""

    def written_order(self) -> exp.Expr:
        """What sorts the rows of a table of ours as they were written."""

    # -- the source -------------------------------------------------------------------------------

    def define_query(self, name: exp.Table, query: str, temporary: bool) -> None:
        """A view over a query of the user's, which must be one SELECT."""

    def define_file(self, name: exp.Table, path: str, reading: Reading, rows: exp.Table | None) -> ReadFile:
        """A view over files; temporary if it may keep the `rows` of CSV files in a temporary table, read once."""

    def source_files(self, path: str) -> list[Path]:
        """The files that a path of the source's finds."""

    def source_patterns(self, path: str) -> list[str]:
        """What it looks for."""

    def database_files(self) -> list[Path]:
        """The databases at hand, with what is kept beside them."""

    # -- the release ------------------------------------------------------------------------------

    def publish(self, relation: Relation, query: exp.Query) -> None:
        """Make the table or view."""

    def comment(self, relation: Relation, said: str) -> None:
        """Mark a table or view."""

    def write_file(self, query: exp.Query, path: Path, release: Release, metadata: dict[str, str]) -> None: ...
    def read_mark(self, path: Path) -> str | None:
        """What `write_file` wrote into a Parquet file's metadata; None for any other file."""

    def define_release(self, name: exp.Table, path: Path, release: Release, columns: list[Column]) -> None:
        """A temporary view over the files of a release, with the types that were released."""

    def release_columns(self, path: Path, release: Release) -> list[str]:
        """The columns that stand in the files of a release; numbered ones if these do not name them."""
