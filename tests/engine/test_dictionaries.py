"""Files that are written from dictionaries."""

from __future__ import annotations

from pathlib import Path

from sqlglot import exp

from duckanon import Policy
from duckanon.engine.duckdb.connection import Limits
from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.query.expressions import sql, table

LABELS, TIMES = 10_000, 40
POLICY = """
name = "p"
source = { file = "none.csv" }
privacy = { k = 2 }
release = { kind = "parquet", to = "out.parquet" }
quasi_identifiers = { age = {} }
"""


def test_every_label_is_in_every_file(tmp_path: Path) -> None:
    """Where several threads write, one in ten files lacks some."""
    release, path = Policy.parse(POLICY).release, tmp_path / "labels.parquet"
    with DuckDB.open(None, writable=True, limits=Limits(threads=2)) as bench:
        labels = sql(f"SELECT i AS code, 'label ' || (100000 + i) AS label FROM range({LABELS}) AS r (i)")
        bench.make_temporary("TABLE", table("plain"), labels, "")  # type: ignore[arg-type]
        assert bench.define_dictionary(table("coded"), table("kind"), table("plain"))
        rows = "SELECT c.label, UNNEST(RANGE(300)) AS nth FROM coded AS c ORDER BY c.label"
        bench.run(f"CREATE TEMP TABLE many AS SELECT label FROM ({rows})")
        counted = f"SELECT COUNT(DISTINCT label), COUNT(*) FROM '{path}' WHERE label LIKE 'label %'"
        shown = exp.select("label").from_("many")
        for _ in range(TIMES):
            bench.files.write(shown, bench.shape(shown), path, release, {})
            assert bench.fetch(counted) == [(LABELS, 300 * LABELS)]
        assert bench.fetch("SELECT current_setting('threads')") == [(2,)]
