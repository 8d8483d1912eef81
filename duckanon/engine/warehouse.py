"""The warehouse: where the rows lie. All that a run asks of the database of its source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, Self

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from duckanon.engine.folders import Folders
from duckanon.engine.relation import ReadFile, Reading, Relation
from duckanon.engine.types import Column
from duckanon.engine.workbench import Workbench
from duckanon.policy.database import Database


class Told(Protocol):
    """Hears how many rows are about to come to the workbench or, where only their end tells, how many have come and
    that there may be `more`. It may raise, and no more come."""

    def __call__(self, rows: int, /, more: bool = False) -> None: ...


class Warehouse(Protocol):
    """One connection to the database of the source, with the workbench that its counts are searched on.

    Rows are counted, recoded and published where they lie. Counts come to the workbench, labels go up from it; where
    both are one DuckDB, nothing is copied.
    """

    @property
    def dialect(self) -> type[Dialect]:
        """What its statements are said in."""

    dialect_name: str  # how the command line calls that
    location: str  # how messages call it
    persistent: bool  # whether a table made here outlives the process
    longest_name: int | None  # bytes of a name beyond which it is cut; None: none is
    transactional: bool  # whether what is made in a transaction is gone if that does not end well
    keeps_ledger: bool  # whether a release and its entry in a ledger here are one step
    guards_views: bool  # whether no expression of a reader's is evaluated over rows that a view does not show
    temporary_tables: bool  # whether it can keep the rows of a query for the length of a session
    keeps_order: bool  # whether what is sent is read in the order in which it was sent
    lists_numbers: bool  # whether numbers that rows are repeated by are a list first, which must not be long
    most_sent: int | None  # values that can be sent at a time; None: as many as there are

    @property
    def folders(self) -> Folders | None:
        """Those that its servers write; None: files are written where duckanon runs."""

    @property
    def workbench(self) -> Workbench: ...
    @property
    def is_workbench(self) -> bool:
        """Whether the workbench sees its tables: both are one."""

    @property
    def may_keep(self) -> bool:
        """Whether counts can be kept here that the workbench is sent, for the length of a run."""

    @property
    def database(self) -> Database | None:
        """The file or server that it reads; None: it is in memory."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def close(self) -> None: ...

    # -- asking -----------------------------------------------------------------------------------

    def execute(self, statement: exp.Expr, note: str = "", bound: Mapping[str, bytes] | None = None) -> None: ...
    def make_temporary(
        self, kind: str, name: exp.Table, query: exp.Query, note: str, bound: Mapping[str, bytes] | None = None
    ) -> None: ...
    def drop_temporary(self, kind: str, name: exp.Table) -> None: ...
    def fetch(self, query: exp.Expr | str, note: str = "") -> list[tuple[Any, ...]]: ...
    def transaction(self) -> AbstractContextManager[None]:
        """One view of the data, and all or nothing: what is made inside is gone if the block does not end well."""

    def collect(
        self, name: exp.Table, query: exp.Query, note: str, told: Told | None = None, others: Sequence[exp.Query] = ()
    ) -> None:
        """Count: a temporary table of the workbench, of that name, with the rows of a query to the warehouse. Where
        `others` count other parts of the same, a row may come from each of them, and `told` has heard no more than how
        many there are at the least."""

    def parts_of(self, relation: Relation) -> list[exp.Expr]:
        """Conditions of which every row of a large table meets one, for a server that counts the parts at the same
        time if these are a query each; none: what it counts is counted whole."""

    def shared_out(self) -> AbstractContextManager[None]:
        """Within, the work of a query may be shared out to several of its processes, though it does not do so by
        itself: it has few groups of many rows, which nobody has told the server."""

    def meanwhile(self, work: Callable[[], object]) -> AbstractContextManager[None]:
        """Within, a server that makes a release leaves the workbench idle: it may do this work, once."""

    def send(self, name: exp.Table, query: exp.Query, note: str) -> None:
        """A temporary table of the warehouse with the rows of a query to the workbench: labels, no people."""

    def keep(self, name: exp.Table, query: exp.Query, note: str) -> None:
        """The same for good."""

    def one_at_a_time(self, address: tuple[str, ...] | None, wait: float) -> AbstractContextManager[None]:
        """No two runs write to the same place of a server at once, from whatever machines; another one is waited for,
        so many seconds."""

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

    def make_our_schema(self) -> None:
        """The schema duckanon, if it is not there yet."""

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

    def make_way(self, standing: Relation) -> None:
        """Before anything is made for the relation that will take the place of one that is `standing`."""

    def is_read_by(self, rows: exp.Table, standing: Relation) -> bool:
        """Whether rows are made of what is `standing`, though it made way: without it, others cannot be read."""

    def publish(self, relation: Relation, query: exp.Query, mark: str) -> Relation:
        """Make the table or view, marked, in its place or beside it. Says what to verify."""

    def let_in(self, published: Relation, relation: Relation) -> None:
        """Let what was published and verified take its place. Who could read what was standing there can
        read it, where a database has such rights."""

    def comment(self, relation: Relation, said: str) -> None:
        """Mark a table or view."""
