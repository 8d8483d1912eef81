"""What is wrong with CSV files that cannot be read: which line, and how it differs from the first."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from duckanon.engine.duckdb.client_errors import without_partitions
from duckanon.engine.duckdb.files import escaped_path, text
from duckanon.engine.duckdb.source_csv import Dialect, opening_line
from duckanon.engine.duckdb.source_files import PACKED, Fetch, SourceFiles
from duckanon.errors import EngineError, Message, Value

_NO_STATE = "invalid state"  # what the parser says where lines end in different ways


def csv_fault(files: SourceFiles, said: Dialect | None, error: EngineError, fetch: Fetch) -> Message:
    """What is wrong with files that cannot be read, without a word of what stands in them."""
    for path in files.paths if said is not None else ():
        assert said is not None
        found = _fault_in(path, said, fetch)
        if found is not None:
            within = () if files.is_one else ("in ", Value(without_partitions(path)), " ")
            return Message.of(*within, found)
    return Message.of(_fault(str(error.__cause__ or error)))


def _fault_in(path: str, said: Dialect, fetch: Fetch) -> str | None:
    """What is wrong with one file. It is read as its first line says, so that a line which differs has a number."""
    try:
        width = said.cells(opening_line(path, said.options, fetch) or "")
        columns = ", ".join(f"'c{position}': 'VARCHAR'" for position in range(width))
        options = f"{said}, auto_detect = false, hive_partitioning = false, columns = {{{columns}}}"
        fetch(f"SELECT max(COLUMNS(*)) FROM read_csv({text(escaped_path(path))}, {options})")
    except EngineError as error:
        told = str(error.__cause__ or error)
        return _fault(told, _other_ending(path) if _NO_STATE in told else None)
    except csv.Error:
        return "the first line cannot be parsed; see source.csv.delimiter and quote"
    return None


def _fault(said: str, other_ending: int | None = None) -> str:
    line = re.search(r"CSV Error on Line: ([0-9]+)", said)
    where = f"line {line[1]}" if line else "a line"
    if "encoded" in said:
        return f"{where} is not in the encoding that is expected; say it in source.csv.encoding, such as latin-1"
    columns = re.search(r"Expected Number of Columns: ([0-9]+) Found: ([0-9]+)", said)
    if columns:
        expected, found = map(int, columns.groups())
        many = f"{found} field{'s' if found > 1 else ''}, the first has {expected}"
        if found > expected:  # of those that are too many only the first is counted
            many = f"more fields than the first, which has {expected}"
        return f"{where} has {many}; see source.csv.delimiter and quote"
    if "unterminated quote" in said:
        return f"{where} has a quote that is not closed, or not as source.csv.quote says"
    if other_ending is not None:
        return f"line {other_ending} does not end as the first does: CRLF and LF are mixed"
    return "not all lines have the same number of fields, or they are not written as source.csv says"


def _other_ending(path: str) -> int | None:
    """The number of the first line that ends otherwise than the first, LF or CRLF; a packed file does not tell."""
    if Path(path).suffix.lower() in PACKED:
        return None
    with Path(path).open("rb") as lines:
        carriage = next(lines, b"").endswith(b"\r\n")
        ended = ((number, line.endswith(b"\r\n")) for number, line in enumerate(lines, 2) if line.endswith(b"\n"))
        return next((number for number, other in ended if other != carriage), None)
