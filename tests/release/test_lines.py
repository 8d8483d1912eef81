"""A CSV release by its lines: the file is, byte for byte, the one that DuckDB writes of its rows, and what is read back
is what stands in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

import duckanon
from duckanon.engine.duckdb.release_files import ReleaseFiles
from duckanon.policy import Release
from tests.support.examples import examples

SIGNS = st.text(st.sampled_from("ab ,;\"'#\t\n\r\x01\\=-é§±"), max_size=4)
VALUES = st.none() | SIGNS | st.sampled_from(["", "NULL", "NA", '""', "#a", " a ", "a\r\nb", '"', "a\x00b"])
OPTIONS = [
    "",
    'null = "2"\n',  # so many copies
    'delimiter = "§"\n',
    'delimiter = ";"\nnull = "NA"\nheader = false\n',
    'delimiter = "\\t"\nnull = "NULL"\n',
    'compression = "gzip"\n',
]


KEPT = 'keep = ["paid"]'


def released(db: duckdb.DuckDBPyConnection, options: str, folder: Path, columns: str = KEPT) -> duckanon.Result:
    text = f"""name = "people"
        [source]
        table = "people"
        [privacy]
        k = 2
        [quasi_identifiers."od,d"]
        [quasi_identifiers.born]
        [sensitive.secret]
        [columns]
        {columns}
        [release]
        kind = "csv"
        to = "out.csv"
        {options}"""
    return duckanon.run(duckanon.Policy.parse(text, folder), db)


def people(db: duckdb.DuckDBPyConnection, rows: list[tuple[Any, ...]], copies: int) -> None:
    db.execute('CREATE OR REPLACE TABLE people ("od,d" VARCHAR, born DATE, secret VARCHAR, paid DOUBLE)')
    db.executemany("INSERT INTO people VALUES (?, '2024-02-29'::DATE + ?, ?, ? / 3)", rows)
    db.execute(f"INSERT INTO people SELECT p.* FROM people AS p, range({copies - 1})")


ROWS = st.lists(st.tuples(VALUES, st.integers(0, 2), VALUES, st.integers(0, 2)), min_size=1, max_size=5)


@examples(6)
@given(ROWS, st.sampled_from(OPTIONS), st.sampled_from([2, 16, 35]))
def test_the_bytes_are_those_that_duckdb_writes(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Any, ...]], options: str, copies: int
) -> None:
    """Those of few rows are; whether their lines are parsed singly, or the file as it is."""
    folder = tmp_path_factory.mktemp("lines")
    rows = [("known", 0, "known", 0), *rows]
    with duckdb.connect() as db:
        people(db, rows, copies)
        by_lines = released(db, options, folder)
        file = folder / "out.csv"
        found = file.read_bytes()
        file.unlink()
        with patch("duckanon.release.file._MANY", 10**9):
            plainly = released(db, options, folder)
        assert found == file.read_bytes()
        assert by_lines.constraints == plainly.constraints
        assert (by_lines.privacy, by_lines.rows, by_lines.classes) == (plainly.privacy, plainly.rows, plainly.classes)


def test_lines_that_repeat_are_parsed_once(tmp_path: Path) -> None:
    """And the file of them is gone."""
    with duckdb.connect() as db, patch.object(ReleaseFiles, "define", autospec=True, side_effect=define) as parsed:
        people(db, [("a,b", 0, '"', 0), ("c", 1, None, 1)], copies=10)
        assert released(db, "", tmp_path).rows == {"source": 20, "released": 20, "suppressed": 0}
        (called,) = parsed.call_args_list
        assert called.args[2].suffix == ".lines"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.csv.duckanon", "out.csv"]


def test_a_line_that_goes_on_is_parsed_in_its_file(tmp_path: Path) -> None:
    with duckdb.connect() as db, patch.object(ReleaseFiles, "define", autospec=True, side_effect=define) as parsed:
        people(db, [("a\nb", 0, '"', 0), ("c", 1, None, 1)], copies=10)
        assert released(db, "", tmp_path).classes == 2
        (called,) = parsed.call_args_list
        assert called.args[2].suffix != ".lines"


@pytest.mark.parametrize("null", ["10", "2"])
def test_a_number_of_copies_is_no_null(null: str, tmp_path: Path) -> None:
    with duckdb.connect() as db:
        people(db, [("a", 0, "x", 0)], copies=10)
        db.execute("INSERT INTO people SELECT 'b', born, 'y', paid FROM people LIMIT 2")
        result = released(db, f'null = "{null}"', tmp_path)
    assert result.privacy is not None
    assert (result.rows["released"], result.privacy["k"]) == (12, 2)


@pytest.mark.parametrize("delimiter", ["§", "\u00a0", "😀"])
def test_a_delimiter_of_several_bytes_is_duckdbs_to_write(delimiter: str, tmp_path: Path) -> None:
    """It writes cells within quotes that share its first byte only."""
    with duckdb.connect() as db:
        people(db, [("±😁", 0, "§x", 0)], copies=4)
        released(db, f'delimiter = "{delimiter}"', tmp_path)
        db.execute(f"COPY people TO '{tmp_path / 'duckdb.csv'}' (DELIMITER '{delimiter}', NULLSTR '')")
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "duckdb.csv").read_bytes()


def test_pseudonyms_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "0" * 64)
    columns = 'pseudonyms = ["number"]\ndrop = ["paid"]\n[pseudonyms]\nkey_env = "KEY"'
    with duckdb.connect() as db:
        people(db, [("a", 0, "x", 0), ("b", 0, "y", 1)], copies=10)
        db.execute("ALTER TABLE people ADD COLUMN number VARCHAR")
        assert released(db, "", tmp_path, columns).rows["released"] == 20


def test_a_header_may_go_on(tmp_path: Path) -> None:
    with duckdb.connect() as db:
        people(db, [("a", 0, "x", 0)], copies=10)
        db.execute('ALTER TABLE people RENAME COLUMN paid TO "pa\nid"')
        assert released(db, "", tmp_path, columns='keep = ["pa\\nid"]').rows["released"] == 10


def test_long_lines_are_parsed_in_their_file(tmp_path: Path) -> None:
    with duckdb.connect() as db, patch.object(ReleaseFiles, "define", autospec=True, side_effect=define) as parsed:
        people(db, [("a" * 1_000_000, 0, "x", 0)], copies=3)
        assert released(db, "", tmp_path).rows["released"] == 3
        (called,) = parsed.call_args_list
        assert called.args[2].suffix != ".lines"


define, write_lines = ReleaseFiles.define, ReleaseFiles.write_lines


LINE = b"a,2024-02-29,x,0.0\n"
TAMPERED = {
    "fewer rows": (LINE, b""),
    "another class": (LINE, b"c,2024-02-29,x,0.0\n"),
    "another value": (LINE, b"a,2024-02-29,x ,0.0\n"),
    "a value that goes on": (LINE, b'a,2024-02-29,"x\n",0.0\n'),
    "one line for another": (LINE, b"b,2024-02-29,x,0.0\n"),
    "a quote that nobody ends": (b",x,", b',"x,'),
}


@pytest.mark.parametrize(("was", "is_now"), TAMPERED.values(), ids=TAMPERED)
def test_what_is_verified_is_what_stands_in_the_file(was: bytes, is_now: bytes, tmp_path: Path) -> None:
    def tampered(files: ReleaseFiles, lines: exp.Query, path: Path, release: Release) -> None:
        write_lines(files, lines, path, release)
        if path.suffix != ".lines":
            path.write_bytes(path.read_bytes().replace(was, is_now, 1))

    with duckdb.connect() as db:
        people(db, [("a", 0, "x", 0), ("b", 0, "x", 0)], copies=10)
        with (
            patch.object(ReleaseFiles, "write_lines", tampered),
            pytest.raises(duckanon.DuckanonError, match="does not hold the lines"),
        ):
            released(db, "", tmp_path)
    assert list(tmp_path.iterdir()) == []
