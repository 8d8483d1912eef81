"""What the user wants, checked and frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from duckanon.policy.database import Database

# The methods that search the lattice for one node, and those that release every class at its own levels.
FULL_DOMAIN = ("greedy", "optimal", "datafly")
LOCAL = ("climb", "alpha_k_clustering", "l_c_clustering", "alpha_l_diversification")
# The kinds of release that stand in the warehouse; all others are files.
RELATIONS = ("table", "view")


@dataclass(frozen=True)
class Intervals:
    """Ranges of growing width, each nested in the next, counted from `origin`."""

    widths: tuple[Decimal, ...]
    origin: Decimal = Decimal(0)


@dataclass(frozen=True)
class Cuts:
    """Ranges between points, each coarser list of which leaves some of the finer one out."""

    points: tuple[tuple[Decimal, ...], ...] | tuple[tuple[date, ...], ...]


@dataclass(frozen=True)
class Mask:
    """Text of which fewer and fewer leading characters are kept."""

    kept: tuple[int, ...]


@dataclass(frozen=True)
class Prefixes:
    """Codes of which fewer and fewer leading characters are kept."""

    pattern: str  # of a code
    kept: tuple[int, ...]


@dataclass(frozen=True)
class Dates:
    """Dates cut to growing calendar units."""

    units: tuple[str, ...]


@dataclass(frozen=True)
class MappingTable:
    """A dimension table of the warehouse: one column per level."""

    table: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class MappingFile:
    """A CSV file: one column per level."""

    path: Path
    ready_made: bool = False  # one of ours, which finds whole numbers of any type


@dataclass(frozen=True)
class Flat:
    """No hierarchy given: the value itself, then the top."""


HierarchySpec = Intervals | Cuts | Mask | Prefixes | Dates | MappingTable | MappingFile | Flat


@dataclass(frozen=True)
class QuasiIdentifier:
    column: str
    hierarchy: HierarchySpec = Flat()
    importance: float = 1.0
    at_least: int = 0  # the finest level that is released, or counted
    at_most: int | None = None  # the most general one; None: the top
    release_as: str = "label"  # what a class shows of it: its label, or a number: mean | median | midpoint

    @property
    def is_number(self) -> bool:
        """Whether numbers are released in place of labels."""
        return self.release_as != "label"


@dataclass(frozen=True)
class ValueThresholds:
    """Thresholds of one sensitive value by key, over those of its column."""

    thresholds: Mapping[str, Any] = field(default_factory=dict)
    sensitivity: float | None = None

    def threshold(self, key: str) -> Any:
        """None: not asked for."""
        return self.thresholds.get(key)


@dataclass(frozen=True)
class Sensitive:
    """A sensitive column and its thresholds, by the keys of the privacy models (`duckanon.models`)."""

    column: str
    thresholds: Mapping[str, Any] = field(default_factory=dict)
    publish: str = "value"
    levels: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    values: Mapping[str, ValueThresholds] = field(default_factory=dict)
    hierarchy: HierarchySpec | None = None  # by which t measures how far values lie apart
    height: int = 0  # of that hierarchy, once it is built

    def threshold(self, key: str) -> Any:
        """None: not asked for."""
        return self.thresholds.get(key)

    @property
    def level_of(self) -> dict[str, int]:
        """The level of each value that has one, by the value's text form."""
        return {text: level for level, texts in self.levels.items() for text in texts}

    @property
    def needs_levels(self) -> bool:
        from duckanon.models.registry import models_of  # with all that they speak SQL by, which takes its time

        return self.publish == "level" or any(model.needs_levels for model in models_of(self))


@dataclass(frozen=True)
class CsvOptions:
    """How a CSV source is written."""

    delimiter: str | None = None  # None: the one that parts the first line into the most columns
    header: bool = True  # the first line names the columns
    quote: str = '"'
    null: tuple[str, ...] = ("",)  # fields without quotes that are NULL
    encoding: str = "utf-8"
    types: Mapping[str, str] = field(default_factory=dict)  # by column; of the others rules decide
    dateformat: str | None = None  # strptime's; None: ISO


@dataclass(frozen=True)
class Source:
    """Exactly one of table, query, file; `database`: its path, if one is named."""

    table: str | None = None
    query: str | None = None
    file: str | None = None
    database: Database | None = None
    csv: CsvOptions = CsvOptions()


@dataclass(frozen=True)
class Population:
    """The people of whom the source is a sample: a table of all, with the same quasi-identifiers, or how many there
    are; one of table, query, file, size, sampling_fraction."""

    table: str | None = None
    query: str | None = None
    file: str | None = None
    size: int | None = None
    sampling_fraction: float | None = None  # of its rows that are in the source

    @property
    def is_counted(self) -> bool:
        """Whether there are rows of it."""
        return (self.table or self.query or self.file) is not None


@dataclass(frozen=True)
class Search:
    method: str = "greedy"
    loss: str = "ncp"
    weighting: str = "importance"
    time_limit: float | None = None  # seconds, for optimal and climb
    nodes: int | None = None  # nodes measured at most, for optimal
    beta: float = 0.0  # han eq. 2: how fast the weight of a generalization step falls with its height
    census_limit: int = 50_000_000  # counts that may come to the workbench
    where: str = "workbench"  # where the lattice is walked: workbench | warehouse

    @property
    def is_local(self) -> bool:
        """Whether every class is released at its own levels, so that rows share none."""
        return self.method in LOCAL


@dataclass(frozen=True)
class FileOptions:
    """How a Parquet or CSV release is written; None: as the engine does."""

    partition_by: tuple[str, ...] = ()  # released columns: the release is then a folder
    compression: str | None = None
    row_group_size: int | None = None  # rows, Parquet
    delimiter: str = ","  # CSV
    header: bool = True
    null: str = ""
    escape_formulas: bool = False  # cells that a spreadsheet would run get an apostrophe


@dataclass(frozen=True)
class Release:
    kind: str
    to: str
    options: FileOptions = FileOptions()
    mode: str = "search"  # what the levels of the last release mean to the next: search | fixed | monotone
    difference: str = "warn"  # what becomes of rows that two releases tell apart: ignore | warn | refuse

    @property
    def is_relation(self) -> bool:
        """Whether it is a table or view of the warehouse, rather than files."""
        return self.kind in RELATIONS

    @property
    def is_address(self) -> bool:
        """Whether it is a folder of files that the servers of a warehouse write."""
        return not self.is_relation and "://" in self.to


@dataclass(frozen=True)
class Pseudonyms:
    """Columns released as keyed hashes; the key is in the environment, never in a file of ours."""

    columns: tuple[str, ...]
    key_env: str


@dataclass(frozen=True)
class Policy:
    """One policy file. Immutable: a run cannot change what it was asked for."""

    name: str
    source: Source
    k: int
    suppression: Decimal | int
    quasi_identifiers: tuple[QuasiIdentifier, ...]
    sensitive: tuple[Sensitive, ...]
    identifiers: tuple[str, ...]
    keep: tuple[str, ...]
    search: Search
    release: Release
    unmapped: str = "error"  # what becomes of a value that a hierarchy does not know: error | suppress | top
    pseudonyms: Pseudonyms | None = None
    drop: tuple[str, ...] = ()  # not released, and no name of anybody
    entity: str | None = None  # the column that names the person of a row; None: every row is a person
    thresholds: Mapping[str, Any] = field(default_factory=dict)  # of the sizes of classes, by the keys of the models
    population: Population | None = None
    profile: str | None = None  # the rule book that it is held to
    raised: tuple[str, ...] = ()  # what its profile has made stricter than it is written, in words
    ledger: Path | None = None  # the DuckDB file of the ledger, when it is not the warehouse itself
    folder: Path = Path(".")
    file: str | None = None
    text: str = ""  # as it is written

    @staticmethod
    def load(path: str | Path, overrides: Mapping[str, Any] | None = None) -> Policy:
        """Read and check a policy file; raises PolicyError with every fault found. `overrides`: values in place of the
        file's, by the names of their keys: {"privacy.k": 10}."""
        from duckanon.policy.load import load_policy
        from duckanon.policy.overrides import by_name

        return load_policy(Path(path), by_name(overrides or {}))

    @staticmethod
    def parse(text: str, folder: str | Path = ".") -> Policy:
        """Read and check a policy from TOML text; paths in it are relative to `folder`."""
        from duckanon.policy.load import parse_policy

        return parse_policy(text, Path(folder), None)

    @cached_property
    def hash(self) -> str:
        """Of what the policy means: not of its spelling, nor of the folder that it lies in."""
        from duckanon.policy.canonical import canonical, digest_of

        return digest_of(canonical(self, self.folder))

    @property
    def counts_population(self) -> bool:
        """Whether there are rows of a population to be counted."""
        return self.population is not None and self.population.is_counted

    def people(self, rows: int) -> int | None:
        """How many a population has that is not counted, of which so many rows are the source; None: nobody knows."""
        told = self.population
        if told is None or told.sampling_fraction is None:
            return told.size if told else None
        return max(rows, round(rows / told.sampling_fraction))

    def budget(self, rows: int) -> int:
        """How many of `rows` may be suppressed. A share is taken exactly as written, then rounded down."""
        if isinstance(self.suppression, int):
            return min(self.suppression, rows)
        return int(self.suppression * rows)
