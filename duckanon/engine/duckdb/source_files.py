"""The files that source.file stands for: one file, a glob, or a folder with its partitions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from duckanon.engine.duckdb.client_errors import without_partitions
from duckanon.engine.duckdb.files import escaped, text
from duckanon.errors import EngineError, Message, Value
from duckanon.query.names import folded, quoted

_READERS = {
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".txt": "read_csv",
    ".parquet": "read_parquet",
    ".json": "read_json",
    ".jsonl": "read_json",
    ".ndjson": "read_json",
}
PACKED = (".gz", ".zst")

Fetch = Callable[[str], list[tuple[Any, ...]]]


@dataclass(frozen=True)
class SourceFiles:
    """Files of one kind, with the patterns that find them."""

    named: str  # as the policy names them
    reader: str
    patterns: list[str]
    paths: list[str]

    def partitions(self) -> list[str]:
        """The columns that the names of the folders right above the files say, as they are spelled there."""
        first, *others = (_keys(path) for path in self.paths)
        if any(set(keys) != set(first) for keys in others):
            raise EngineError(f"source.file: {self.named}: the files lie in folders of different partition columns")
        return first

    @property
    def is_one(self) -> bool:
        """Whether it is one file, by its very name, now and whenever it is read."""
        return self.patterns == [escaped(Path(path)) for path in self.paths]

    def reading(self, texts: tuple[str, ...]) -> str:
        """A query for all rows. `texts`: what is to be read of the folders' names as it is written there."""
        wanted = {folded(name) for name in texts}
        options = [f"[{', '.join(map(text, self.patterns))}]"]
        if len(self.paths) > 1:
            options.append("union_by_name = true")  # by name, and by the widest of the types
        texted = [f"{quoted(key)}: VARCHAR" for key in self.partitions() if folded(unquote(key)) in wanted]
        # Of the others DuckDB takes those for numbers or dates that are all written as such.
        return self.select(options, f"hive_types = {{{', '.join(texted)}}}" if texted else "")

    def select(self, options: list[str], hive: str) -> str:
        """A query for all rows. `hive`: how the values are read that the folders' names say."""
        partitions = self.partitions()
        if not partitions:
            return f"SELECT * FROM {self.reader}({', '.join([*options, 'hive_partitioning = false'])})"
        options = [*options, "hive_partitioning = true", *([hive] if hive else [])]
        return f"SELECT {_star(self, partitions)} FROM {self.reader}({', '.join(options)})"


def patterns_of(path: str) -> list[str]:
    """What `path` looks for: itself, or in a folder all files below it."""
    absolute = Path(path).absolute()
    return [f"{escaped(absolute)}/**/*"] if absolute.is_dir() else [str(absolute)]


def find_files(path: str, fetch: Fetch) -> SourceFiles:
    absolute = Path(path).absolute()
    if absolute.is_dir():
        return _in_folder(path, absolute, fetch)
    # A file of that very name, if there is one: its name may have signs that mean more in a pattern.
    one = absolute.is_file()
    pattern = escaped(absolute) if one else str(absolute)
    found = [str(absolute)] if one else _glob(pattern, fetch)
    if not found and _reader(path) is not None:
        raise EngineError(f"source.file: {path}: there is no such file")
    return SourceFiles(path, _one_reader(path, found), [pattern], found)


def _in_folder(path: str, absolute: Path, fetch: Fetch) -> SourceFiles:
    below = f"{escaped(absolute)}/**/*"
    found = [file for file in _glob(below, fetch) if _reader(file) is not None]
    hidden = [file for file in found if any(map(_is_hidden, Path(file).relative_to(absolute).parts))]
    if hidden:
        such = Value(without_partitions(f"/{Path(hidden[0]).relative_to(absolute)}")[1:])
        what = ("holds hidden data files, such as ", such, f"; name the files by a pattern such as {path}/*.parquet")
        raise EngineError(Message.of(f"source.file: {path}: ", *what))
    if not found:
        raise EngineError(f"source.file: {path}: is a folder without CSV, Parquet or JSON files")
    reader = _one_reader(path, found)
    endings = sorted({_ending(file) for file in found})
    return SourceFiles(path, reader, [below + ending for ending in endings], found)


def _is_hidden(name: str) -> bool:
    """By the custom of those who write such folders: .checkpoints, _temporary; but not _year=2024."""
    return name.startswith((".", "_")) and "=" not in name


def _glob(pattern: str, fetch: Fetch) -> list[str]:
    found = sorted(file for (file,) in fetch(f"SELECT file FROM glob({text(pattern)})"))
    for file in map(Path, found):
        if file.exists() and not file.is_file():
            shown = Value(without_partitions(str(file)))
            what = ": is no file that can be read more than once; copy it to one"
            raise EngineError(Message.of("source.file: ", shown, what))
    return found


def _ending(path: str) -> str:
    """.csv or .csv.gz, spelled as the file has it."""
    suffixes = Path(path).suffixes
    packed = len(suffixes) > 1 and suffixes[-1].lower() in PACKED
    return "".join(suffixes[-2:] if packed else suffixes[-1:])


def _reader(path: str) -> str | None:
    suffixes = [suffix.lower() for suffix in Path(path).suffixes if suffix.lower() not in PACKED]
    return _READERS.get(suffixes[-1] if suffixes else "")


def _one_reader(named: str, paths: list[str]) -> str:
    readers = {_reader(path) for path in paths}
    if len(readers) > 1 and None not in readers:
        raise EngineError(f"source.file: {named}: the files are of different kinds; name those of one kind")
    reader = readers.pop() if len(readers) == 1 else None
    if reader is None:
        raise EngineError(f"source.file: {named}: must be CSV, Parquet or JSON files")
    return reader


def _keys(path: str) -> list[str]:
    """What the folders right above a file say a value of: name=value, the uppermost first."""
    folders = list(takewhile(lambda name: "=" in name, reversed(Path(path).parts[:-1])))
    return [folder.partition("=")[0] for folder in reversed(folders)]


def must_agree(files: SourceFiles, fetch: Fetch, columns_of: Callable[[str], list[str]] | None = None) -> list[str]:
    """All files have the same columns, in their folders' names and inside: one that only some have would be lost, or
    be empty, without a word. `columns_of`: those inside a CSV file; what those of the first are."""
    files.partitions()  # raises where these differ
    first, *others = files.paths
    if columns_of is not None:
        listed = {path: columns_of(path) for path in files.paths}
        columns = {path: set(map(folded, names)) for path, names in listed.items()}
    elif others and files.reader == "read_parquet":
        columns = _parquet_columns(files, fetch)
    else:
        return []
    for other in others:
        differing = sorted(columns[first] ^ columns[other])
        if differing:
            has, lacks = (first, other) if differing[0] in columns[first] else (other, first)
            # Where a header is lost, the names of columns are values of a person.
            more, less = (without_partitions(path) for path in (has, lacks))
            what = (
                f"{more} has a column ",
                Value(differing[0]),
                f", {less} does not; all files must have the same columns",
            )
            raise EngineError(Message.of(f"source.file: {files.named}: ", *what))
    return listed[first] if columns_of is not None else []


def _parquet_columns(files: SourceFiles, fetch: Fetch) -> dict[str, set[str]]:
    patterns = ", ".join(map(text, files.patterns))
    leaves = "SELECT file_name, name FROM parquet_schema([{}]) WHERE duckdb_type IS NOT NULL"
    columns: dict[str, set[str]] = {path: set() for path in files.paths}
    for path, name in fetch(leaves.format(patterns)):
        columns[path].add(folded(name))
    return columns


def _star(files: SourceFiles, partitions: list[str]) -> str:
    """All columns, but for those that DuckDB would add for folders further up."""
    everywhere = dict.fromkeys(part.partition("=")[0] for part in Path(files.paths[0]).parts[:-1] if "=" in part)
    above = [quoted(key) for key in everywhere if key not in partitions]
    renamed = [f"{quoted(key)} AS {quoted(unquote(key))}" for key in partitions if unquote(key) != key]
    star = f"* EXCLUDE ({', '.join(above)})" if above else "*"
    return f"{star} RENAME ({', '.join(renamed)})" if renamed else star
