"""The benchmark's data and policy."""

from __future__ import annotations

from pathlib import Path

import duckdb

QI = {
    "age": "{ intervals = [5, 10, 20] }",
    "education": '{ builtin = "education" }',
    "marital_status": '{ builtin = "marital_status" }',
    "country": '{ builtin = "countries_name" }',
    "race": None,
    "salary_class": None,
    "sex": '{ builtin = "sex" }',
    "workclass": None,
}
NAMES = list(QI)


def people(folder: Path, rows: int) -> Path:
    """A Parquet file of invented people, made once per folder."""
    path = folder / f"people_{rows}.parquet"
    if not path.exists():
        query = (Path(__file__).parent / "people.sql").read_text(encoding="utf-8").replace("$rows", str(rows))
        duckdb.connect().execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
    return path


def policy(folder: Path, source: Path, names: list[str], k: int = 5, suppression: float = 0.02) -> Path:
    """A policy that releases the named quasi-identifiers and the occupation of `source` to Parquet."""
    sections = []
    for name in names:
        given = QI[name]
        sections.append(f"[quasi_identifiers.{name}]" + (f"\nhierarchy = {given}" if given else ""))
    hidden = [name for name in (*NAMES, "income") if name not in names]
    path = folder / f"policy_{source.stem}_{len(names)}.toml"
    path.write_text(
        f"""name = "bench"
[source]
file = "{source}"
[privacy]
k = {k}
suppression = {suppression}
[sensitive.occupation]
[columns]
identifiers = {hidden}
[release]
kind = "parquet"
to = "released_{source.stem}_{len(names)}.parquet"
""".replace("'", '"')
        + "\n".join(sections)
        + "\n"
    )
    return path
