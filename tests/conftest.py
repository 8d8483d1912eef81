"""What every test may lean on: a folder with a warehouse, and the command line as a user meets it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from duckanon import Policy
from duckanon.cli.words import main

ROOT = Path(__file__).parents[1]
ADULT = ROOT.parent / "shared" / "data"


@dataclass
class Told:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Told]


@pytest.fixture
def duckanon(capfd: pytest.CaptureFixture[str]) -> Command:
    """Run a command line in this process; no traceback may ever show."""

    def command(*arguments: object) -> Told:
        capfd.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:  # argparse
            code = int(stop.code or 0)
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err
        return Told(code, out, err)

    return command


class Folder:
    """A folder with a warehouse in it and a policy beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = path / "warehouse.duckdb"

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        """Execute in the warehouse; the rows of the last statement."""
        rows: list[tuple[Any, ...]] = []
        with duckdb.connect(str(self.database)) as connection:
            for statement in statements:
                rows = connection.execute(statement).fetchall()
        return rows

    def policy(self, text: str, name: str = "policy.toml") -> Path:
        path = self.path / name
        path.write_text(text, encoding="utf-8")
        return path

    def dump(self) -> list[Any]:
        """All that the warehouse holds: relations with their comments, and their rows."""
        relations = self.sql(
            "SELECT schema_name, table_name, comment FROM duckdb_tables() "
            "UNION ALL SELECT schema_name, view_name, comment FROM duckdb_views() WHERE NOT internal ORDER BY ALL"
        )
        macros = self.sql("SELECT schema_name, function_name FROM duckdb_functions() WHERE NOT internal ORDER BY ALL")
        quoted = [(f'"{s}"."' + t.replace('"', '""') + '"', comment) for s, t, comment in relations]
        return [(name, comment, self.sql(f"FROM {name} ORDER BY ALL")) for name, comment in quoted] + [
            ("macros", macros)
        ]

    def files(self) -> list[str]:
        return sorted(path.name for path in self.path.iterdir())


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def run_on_a_full_disk(policy: Path, most: int = 100_000) -> subprocess.CompletedProcess[str]:
    """Run a policy in a process of its own, none of whose files may grow beyond so many bytes."""
    script = (
        f"import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most})); "
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        f"from duckanon.cli.words import main; sys.exit(main(['run', {str(policy)!r}]))"
    )
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


@pytest.fixture
def people(folder: Folder) -> Folder:
    """200 people: age, zip, sex, disease, name."""
    folder.sql(
        """
        CREATE TABLE people AS
        SELECT 'person ' || i AS name, (20 + (i * 7) % 40)::INTEGER AS age, '021' || (30 + i % 12) AS zip,
            CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END AS sex,
            ['flu', 'HIV', 'cancer', 'asthma', 'flu', 'flu', 'cough'][1 + (i * 3 + i // 7) % 7] AS disease
        FROM range(200) AS r (i)
        """
    )
    return folder


PEOPLE = """
name = "people"
[source]
table = "people"
database = "warehouse.duckdb"
[privacy]
k = 3
suppression = 0.1
[quasi_identifiers.age]
hierarchy = { intervals = [5, 10, 20] }
[quasi_identifiers.zip]
hierarchy = { mask = [4, 3, 0] }
[quasi_identifiers.sex]
[sensitive.disease]
l = 2
[columns]
identifiers = ["name"]
[release]
kind = "table"
to = "people_anonymous"
"""


def small_policy(model: str, k: int, suppression: str, more: str) -> Policy:
    """A policy over a table t (a, b, c, s); `more` is said of c, then in sections of its own, `model` of s."""
    return Policy.parse(
        f"""
        name = "p"
        [source]
        table = "t"
        [privacy]
        k = {k}
        suppression = {suppression}
        [quasi_identifiers.a]
        hierarchy = {{ intervals = [2, 4] }}
        importance = 0.7
        [quasi_identifiers.b]
        hierarchy = {{ mask = [1, 0] }}
        [quasi_identifiers.c]
        {more}
        [release]
        kind = "table"
        to = "o"
        [sensitive.s]
        {model}
        """
    )
