"""The files that source.file stands for: one file, a glob, or a folder with its partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from duckanon.engine.files import escaped, text
from duckanon.engine.names import folded, quoted
from duckanon.errors import EngineError

_READERS = {
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".txt": "read_csv",
    ".parquet": "read_parquet",
    ".json": "read_json",
    ".jsonl": "read_json",
    ".ndjson": "read_json",
}
_PACKED = (".gz", ".zst")

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


def patterns_of(path: str) -> list[str]:
    """What `path` looks for: itself, or in a folder all files below it."""
    place = Path(path).absolute()
    return [f"{escaped(place)}/**/*"] if place.is_dir() else [str(place)]


def find_files(path: str, fetch: Fetch) -> SourceFiles:
    place = Path(path).absolute()
    if place.is_dir():
        return _in_folder(path, place, fetch)
    # A file of that very name, if there is one: its name may have signs that mean more in a pattern.
    pattern = escaped(place) if place.is_file() else str(place)
    found = _glob(pattern, fetch)
    if not found and _reader(path) is not None:
        raise EngineError(f"source.file: {path}: there is no such file")
    return SourceFiles(path, _one_reader(path, found), [pattern], found)


def _in_folder(path: str, place: Path, fetch: Fetch) -> SourceFiles:
    below = f"{escaped(place)}/**/*"
    found = [file for file in _glob(below, fetch) if _reader(file) is not None]
    hidden = [file for file in found if any(map(_is_hidden, Path(file).relative_to(place).parts))]
    if hidden:
        what = f"holds hidden data files, such as {Path(hidden[0]).relative_to(place)}"
        raise EngineError(f"source.file: {path}: {what}; name the files by a pattern such as {path}/*.parquet")
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
            raise EngineError(f"source.file: {file}: is no file that can be read more than once; copy it to one")
    return found


def _ending(path: str) -> str:
    """.csv or .csv.gz, spelled as the file has it."""
    suffixes = Path(path).suffixes
    packed = len(suffixes) > 1 and suffixes[-1].lower() in _PACKED
    return "".join(suffixes[-2:] if packed else suffixes[-1:])


def _reader(path: str) -> str | None:
    suffixes = [suffix.lower() for suffix in Path(path).suffixes if suffix.lower() not in _PACKED]
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


def must_agree(files: SourceFiles, fetch: Fetch) -> None:
    """All files have the same columns, in their folders' names and inside: one that only some have would be lost, or
    be empty, without a word."""
    files.partitions()  # raises where these differ
    if len(files.paths) == 1 or files.reader == "read_json":
        return
    columns = _parquet_columns(files, fetch) if files.reader == "read_parquet" else _csv_columns(files, fetch)
    first, *others = files.paths
    for other in others:
        differing = sorted(columns[first] ^ columns[other])
        if differing:
            has, lacks = (first, other) if differing[0] in columns[first] else (other, first)
            what = f"{has} has a column {differing[0]}, {lacks} does not"
            raise EngineError(f"source.file: {files.named}: {what}; all files must have the same columns")


def _parquet_columns(files: SourceFiles, fetch: Fetch) -> dict[str, set[str]]:
    patterns = ", ".join(map(text, files.patterns))
    leaves = "SELECT file_name, name FROM parquet_schema([{}]) WHERE duckdb_type IS NOT NULL"
    columns: dict[str, set[str]] = {path: set() for path in files.paths}
    for path, name in fetch(leaves.format(patterns)):
        columns[path].add(folded(name))
    return columns


def _csv_columns(files: SourceFiles, fetch: Fetch) -> dict[str, set[str]]:
    describe = "DESCRIBE SELECT * FROM read_csv({}, hive_partitioning = false)"
    return {
        path: {folded(name) for name, *_ in fetch(describe.format(text(escaped(Path(path)))))} for path in files.paths
    }


def reading(files: SourceFiles, texts: list[str], columns: Iterable[str] = ()) -> str:
    """A query for all rows of the files. `texts`: what is to be read as it is written, of the `columns` inside a CSV
    file and of the folders' names."""
    wanted = {folded(name) for name in texts}
    options = [f"[{', '.join(map(text, files.patterns))}]"]
    if len(files.paths) > 1:
        options.append("union_by_name = true")  # by name, and by the widest of the types
    partitions = files.partitions()
    elsewhere = {unquote(key) for key in partitions}
    typed = [name for name in columns if folded(name) in wanted and name not in elsewhere]
    if typed:
        pairs = ", ".join(f"{text(name)}: 'VARCHAR'" for name in typed)
        options.append(f"types = {{{pairs}}}")
    if not partitions:
        return f"SELECT * FROM {files.reader}({', '.join([*options, 'hive_partitioning = false'])})"
    options.append("hive_partitioning = true")
    texted = [f"{quoted(key)}: VARCHAR" for key in partitions if folded(unquote(key)) in wanted]
    if texted:  # of the others DuckDB takes those for numbers or dates that are all written as such
        options.append(f"hive_types = {{{', '.join(texted)}}}")
    return f"SELECT {_star(files, partitions)} FROM {files.reader}({', '.join(options)})"


def _star(files: SourceFiles, partitions: list[str]) -> str:
    """All columns, but for those that DuckDB would add for folders further up."""
    everywhere = dict.fromkeys(part.partition("=")[0] for part in Path(files.paths[0]).parts[:-1] if "=" in part)
    above = [quoted(key) for key in everywhere if key not in partitions]
    renamed = [f"{quoted(key)} AS {quoted(unquote(key))}" for key in partitions if unquote(key) != key]
    star = f"* EXCLUDE ({', '.join(above)})" if above else "*"
    return f"{star} RENAME ({', '.join(renamed)})" if renamed else star
