"""The files of a release, in DuckDB's words: how they are written, and how they are read back."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from duckanon.engine.duckdb.formulas import escaped_cell, may_be_formulas, unescaped_cell
from duckanon.engine.types import Column
from duckanon.policy import Release
from duckanon.query.expressions import literal
from duckanon.query.names import folded, quoted

_ENDINGS = {"gzip": ".gz", "zstd": ".zst"}


def text(value: str) -> str:
    return literal(value).sql("duckdb")


def escaped(path: Path) -> str:
    """The path as a pattern that finds nothing but itself."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in str(path))


def escaped_path(path: str) -> str:
    return escaped(Path(path))


def copy_options(release: Release, metadata: dict[str, str]) -> str:
    """What stands in the parentheses of COPY … TO."""
    options = release.options
    said = {"FORMAT": release.kind, "COMPRESSION": _compression(release)}
    if release.kind == "parquet":
        said["KV_METADATA"] = "{" + ", ".join(f"{quoted(key)}: {text(value)}" for key, value in metadata.items()) + "}"
        said["ROW_GROUP_SIZE"] = str(options.row_group_size) if options.row_group_size else None
    else:
        said |= {"HEADER": str(options.header).lower(), "DELIMITER": text(options.delimiter)}
        said |= {"NULLSTR": text(options.null), "QUOTE": text('"'), "ESCAPE": text('"')}
    if options.partition_by:
        said["PARTITION_BY"] = f"({', '.join(map(quoted, options.partition_by))})"
        said["FILE_EXTENSION"] = text(_extension(release))
    else:
        said["USE_TMP_FILE"] = "false"
    return ", ".join(f"{name} {value}" for name, value in said.items() if value is not None)


def written(columns: list[Column], release: Release) -> str:
    """What stands in the cells of a CSV file. The columns of partitions are no cells."""
    return ", ".join(escaped_cell(c) if _escaped(c, release) else quoted(c.name) for c in columns)


def _escaped(column: Column, release: Release) -> bool:
    in_cells = folded(column.name) not in map(folded, release.options.partition_by)
    return release.options.escape_formulas and in_cells and may_be_formulas(column)


def _compression(release: Release) -> str | None:
    """Said for a CSV file at any rate: while it is unfinished, its name says nothing."""
    return release.options.compression or ("none" if release.kind == "csv" else None)


def _extension(release: Release) -> str:
    return release.kind + (_ENDINGS.get(_compression(release) or "", "") if release.kind == "csv" else "")


def _files(path: Path, release: Release) -> str:
    """The pattern that finds the files of a release at `path`."""
    pattern = escaped(path)
    return text(f"{pattern}/**/*.{_extension(release)}" if release.options.partition_by else pattern)


def _csv_options(release: Release) -> str:
    options = release.options
    return (
        f"header = {str(options.header).lower()}, delim = {text(options.delimiter)}, nullstr = {text(options.null)}, "
        f"quote = '\"', escape = '\"', compression = {text(_compression(release) or 'none')}"
    )


# What must not stand in a file that is read by its lines: what would end a line, and what parts the one column of
# lines from no other.
_NO_SIGN = "\x01"
NOT_IN_LINES = ("\n", "\r", _NO_SIGN)


def line_options(release: Release) -> str:
    """What stands in the parentheses of COPY … TO, for rows that are lines already."""
    compression = _compression(release)
    return f"FORMAT csv, HEADER false, DELIMITER '{_NO_SIGN}', QUOTE '', COMPRESSION {compression}, USE_TMP_FILE false"


def lines_inside(path: Path, release: Release) -> str:
    """A query whose rows are the lines of a file, but for the first if that names its columns."""
    options = (
        f"auto_detect = false, columns = {{'line': 'VARCHAR'}}, header = {str(release.options.header).lower()}, "
        f"delim = '{_NO_SIGN}', quote = '', escape = '', compression = {text(_compression(release) or 'none')}, "
        "hive_partitioning = false"
    )
    return f"SELECT line FROM read_csv({_files(path, release)}, {options})"


def inside(path: Path, release: Release) -> str:
    """A query whose columns are those that stand in the files themselves, not in their folders' names."""
    if release.kind == "parquet":
        return f"SELECT * FROM read_parquet({_files(path, release)}, hive_partitioning = false)"
    options = f"{_csv_options(release)}, skip = 0, comment = '', all_varchar = true, hive_partitioning = false"
    return f"SELECT * FROM read_csv({_files(path, release)}, {options})"


def read_back(path: Path, release: Release, columns: list[Column]) -> str:
    """A query for the rows of a release, with the types that were released."""
    parts = release.options.partition_by
    partition = {folded(part) for part in parts}
    hive = "hive_partitioning = true, hive_types_autocast = false" if parts else "hive_partitioning = false"
    shown = ", ".join(_shown(c) if folded(c.name) in partition else _cell(c, release) for c in columns)
    if release.kind == "parquet":
        return f"SELECT {shown} FROM read_parquet({_files(path, release)}, {hive})"
    inside = {
        c.name: "VARCHAR" if _escaped(c, release) else c.type.word for c in columns if folded(c.name) not in partition
    }
    typed = ", ".join(f"{text(name)}: {text(kind)}" for name, kind in inside.items())
    options = f"auto_detect = false, columns = {{{typed}}}, allow_quoted_nulls = false, {_csv_options(release)}"
    return f"SELECT {shown} FROM read_csv({_files(path, release)}, {options}, {hive})"


def _cell(column: Column, release: Release) -> str:
    return unescaped_cell(column) if _escaped(column, release) else quoted(column.name)


def _shown(column: Column) -> str:
    """A folder's name says a value as text, and its column's name with the signs of a URL."""
    return f"CAST({quoted(quote(column.name, safe=''))} AS {column.type}) AS {quoted(column.name)}"
