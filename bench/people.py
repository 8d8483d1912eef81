"""The people that the benchmark measures on: invented ones, or Adult."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from bench.bare import answer

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
MORE = {
    "zip": "{ mask = [4, 3, 2, 0] }",
    "born": '{ dates = ["month", "year", "decade"] }',
    "height": "{ intervals = [5, 10, 20] }",
    "weight": "{ intervals = [5, 10, 20] }",
    "children": "{ intervals = [2, 4] }",
    "hours": "{ intervals = [5, 10, 20] }",
    "language": None,
    "blood_group": None,
    "dwelling": None,
    "vehicle": None,
    "eyes": None,
    "insurance": None,
}
DONOR_QI = {
    "age": "{ intervals = [5, 10, 20] }",
    "gender": None,
    "income": "{ intervals = [3] }",
    "state": None,
    "smallest": "{ intervals = [5, 25, 100] }",
    "gifts": "{ intervals = [2, 6, 24] }",
    "total": "{ intervals = [10, 100, 1000] }",
}
_DONORS = 63_441
ADULT = ["age", "education", "marital-status", "native-country", "race", "salary-class", "sex", "workclass"]
SENSITIVE = "occupation"
KEPT = "zip"
_ADULT_ROWS = 30_000  # about as many as Adult has


@dataclass(frozen=True)
class Data:
    """A file, the hierarchies of its quasi-identifiers as a policy writes them, and its other columns."""

    name: str
    file: Path
    hierarchies: dict[str, str | None]
    others: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()  # released as they are

    @property
    def names(self) -> list[str]:
        return list(self.hierarchies)

    @property
    def keys(self) -> str:
        """The quasi-identifiers, for SQL."""
        return ", ".join(f'"{name}"' for name in self.names)

    @property
    def columns(self) -> str:
        """All that is released, for SQL."""
        return ", ".join(f'"{name}"' for name in (*self.names, SENSITIVE, *self.kept))

    def first(self, count: int) -> Data:
        """The same file with only its first quasi-identifiers."""
        kept = dict(list(self.hierarchies.items())[:count])
        hidden = tuple(name for name in self.hierarchies if name not in kept)
        return Data(self.name, self.file, kept, (*hidden, *self.others))


def people(folder: Path, rows: int) -> Path:
    """A Parquet file of invented people, made once per folder."""
    return made(
        folder / f"people_{rows}.parquet", f"SELECT {', '.join((*NAMES, SENSITIVE, 'income'))} FROM ({_sql(rows)})"
    )


def invented(folder: Path, rows: int) -> Data:
    return Data(f"{rows:,} people", people(folder, rows), QI, others=("income",))


def with_kept_zip(folder: Path, rows: int) -> Data:
    """With a postal code that is kept, and makes most rows different."""
    file = made(folder / f"kept_{rows}.parquet", f"SELECT {', '.join((*NAMES, SENSITIVE, KEPT))} FROM ({_sql(rows)})")
    return Data(f"{rows:,} people", file, QI, kept=(KEPT,))


def wide(folder: Path, rows: int) -> Data:
    """With twenty quasi-identifiers."""
    hierarchies = {**QI, **MORE}
    file = made(folder / f"wide_{rows}.parquet", f"SELECT {', '.join((*hierarchies, SENSITIVE))} FROM ({_sql(rows)})")
    return Data(f"{rows:,} people", file, hierarchies)


def adult(folder: Path | None, otherwise: Path) -> Data:
    """Adult from the folder that holds it and its hierarchies; without one, as many invented people."""
    if folder is None:
        return as_csv(invented(otherwise, _ADULT_ROWS))
    files = {name: json.dumps(str((folder / f"adult_hierarchy_{name}.csv").absolute())) for name in ADULT}
    return Data("Adult", (folder / "adult.csv").absolute(), dict(files))


def numbered(data: Data, folder: Path) -> Data:
    """The same people with numbers for their occupations."""
    number = f"dense_rank() OVER (ORDER BY {SENSITIVE}) AS {SENSITIVE}"
    file = made(folder / f"{data.file.stem}_numbered.csv", f"SELECT * REPLACE ({number}) FROM '{data.file}'")
    return Data(f"{data.name}, numbered", file, data.hierarchies)


def donors(folder: Path) -> Data:
    """Whose tuples hardly repeat: a lattice of 45,000 nodes, a column of some 5,500 values, another with a hundred
    thousand in its hierarchy."""
    digits = "lpad(i::VARCHAR, 5, '0')"
    masked = [f"{digits}[:{kept}] || '{'*' * (5 - kept)}'" for kept in (4, 3, 2, 1, 0)]
    zips = made(folder / "zips.csv", f"SELECT {', '.join((digits, *masked))} FROM range(100_000) r (i)", "HEADER false")
    file = made(folder / "donors.parquet", _sql(_DONORS, "donors.sql"))
    return Data("donors", file, {"zip": json.dumps(str(zips)), **DONOR_QI})


def as_csv(data: Data) -> Data:
    """The same columns as a CSV file beside it."""
    file = made(data.file.with_suffix(".csv"), f"SELECT {data.columns} FROM '{data.file}'")
    return Data(data.name, file, data.hierarchies, kept=data.kept)


def made(path: Path, query: str, options: str = "") -> Path:
    """The file of a query, made once."""
    if not path.exists():
        answer(f"COPY ({query}) TO '{path}' ({options})" if options else f"COPY ({query}) TO '{path}'")
    return path


def _sql(rows: int, name: str = "people.sql") -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8").replace("$rows", str(rows))
