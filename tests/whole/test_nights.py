"""Twenty-two nights of one export over a warehouse that changes, and all that goes wrong meanwhile.

After every night what is published is whole, is either that night's release or the last one, and holds its policy by
queries that share nothing with the product. At the end the ledger tells what happened.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import duckdb
import pytest

from duckanon.cli.words import main
from tests.support.folder import Folder
from tests.support.ledgers import lock_of, rows_of

K, L, ALPHA, ALPHA_HIV, ALP, BUDGET = 5, 3, 0.6, 0.35, 0.42, 0.05

POLICY = f"""
name = "people"
[source]
table = "people"
database = "warehouse.duckdb"
[privacy]
k = {K}
suppression = {BUDGET}
unmapped = "error"
[quasi_identifiers.age]
hierarchy = {{ intervals = [5, 10, 20] }}
[quasi_identifiers.zip]
hierarchy = {{ mask = [4, 3, 0] }}
[quasi_identifiers.city]
hierarchy = {{ table = "cities", columns = ["city", "state"] }}
[sensitive.disease]
l = {L}
alpha = {ALPHA}
alp = {ALP}
[sensitive.disease.values.HIV]
alpha = {ALPHA_HIV}
[columns]
identifiers = ["name"]
keep = ["receipt"]  # by which the test finds a released row in the source; and it fills disks
"""
RELEASED = {"age", "zip", "city", "disease", "receipt"}

FOLDER = """
[release]
kind = "parquet"
to = "published/people"
partition_by = ["disease"]
[ledger]
database = "ledger.duckdb"
"""
TABLE = """
[release]
kind = "table"
to = "people_anonymous"
"""

# -- how a run ends -------------------------------------------------------------------------------

# By the name of the constraint and the value that it is for, as the ledger has them.
Figures = dict[tuple[str, str | None], float]
THRESHOLDS: Figures = {
    ("k", None): K,
    ("distinct_l", None): L,
    ("alpha", "HIV"): ALPHA_HIV,
    ("alpha", None): ALPHA,
    ("alp", None): ALP,
}

CODES = {
    "released": 0,
    "unchanged": 0,
    "infeasible": 1,
    "error": 2,
    "second": 2,  # another run to the same place is under way
    "shut out": 2,  # another process has the warehouse open
    "interrupted": 130,
    "killed": -9,
}
# Only a ledger in a file can be written by who was shut out, or came second.
IN_THE_LEDGER = {name: name for name in ("released", "unchanged", "infeasible", "error", "interrupted")}
GOOD = ("released", "unchanged")
IN_A_FILE = IN_THE_LEDGER | {"second": "error", "shut out": "error"}


@dataclass(frozen=True)
class Ended:
    """A run that has ended: its exit code and its log."""

    code: int
    log: str

    @property
    def outcome(self) -> str:
        if self.code == -signal.SIGKILL:
            return "killed"
        last = json.loads(self.log.splitlines()[-1])
        if "another run that releases to" in self.log:
            return "second"
        if "in use by another process" in self.log:
            return "shut out"
        return str(last["outcome"] if last["step"] in ("settled", "failed") else last["step"])


@dataclass(frozen=True)
class Line:
    """What the ledger should say of a run."""

    outcome: str
    rows: tuple[int | None, int | None, int | None]  # of the source, released, suppressed
    measured: Figures
    began: datetime
    finished: datetime


# -- what is exported -----------------------------------------------------------------------------

LIMITED = """
import resource, sys
from duckanon.cli.words import main
resource.setrlimit(resource.RLIMIT_FSIZE, (2_500_000, 2_500_000))
sys.exit(main(sys.argv[1:]))
"""

MEASURED = """
WITH shares AS (SELECT age, zip, city, disease, count(*) AS y FROM {release} GROUP BY ALL),
classes AS (
    SELECT disease, y, sum(y) OVER class AS x, count(*) OVER class AS l
    FROM shares WINDOW class AS (PARTITION BY age, zip, city)
),
leaks AS (SELECT disease, sum(y * y / x) / sum(y) AS alp FROM classes GROUP BY disease)
SELECT min(x), min(l), max(y / x) FILTER (disease = 'HIV'), max(y / x) FILTER (disease <> 'HIV'),
    (SELECT max(alp) FROM leaks)
FROM classes
"""


class Export:
    """One policy over one warehouse."""

    def __init__(self, folder: Folder, target: str) -> None:
        self.folder, self.text = folder, POLICY + target
        self.in_files = target == FOLDER
        self.ledger = folder.path / "ledger.duckdb" if self.in_files else folder.database
        self.place = folder.path / "published" / "people"
        self.place.parent.mkdir()

    def start(self, *options: str, limited: bool = False) -> subprocess.Popen[str]:
        program = ["-c", LIMITED] if limited else ["-m", "duckanon"]
        command = [sys.executable, *program, *self.arguments(options)]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def run(self, *options: str) -> Ended:
        """In this process."""
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as log:
            code = main(self.arguments(options))
        return Ended(code, log.getvalue())

    def arguments(self, options: tuple[str, ...]) -> list[str]:
        return ["run", str(self.folder.policy(self.text)), "--log", "json", *options]

    def is_being_written(self) -> bool:
        """A table is written where nobody sees it."""
        return not self.in_files or any(self.place.parent.glob(".people.*.unfinished"))

    @contextmanager
    def seen(self) -> Iterator[Published]:
        with duckdb.connect(str(self.folder.database), read_only=True) as warehouse:
            yield Published(self, warehouse)


class Published:
    """What stands in the export's place, asked in plain SQL."""

    def __init__(self, export: Export, warehouse: duckdb.DuckDBPyConnection) -> None:
        self.export, self.warehouse, self.place = export, warehouse, export.place
        files = f"read_parquet('{self.place}/**/*.parquet', hive_partitioning = true, hive_types_autocast = false)"
        self.release = files if export.in_files else "people_anonymous"

    def sql(self, query: str) -> list[tuple[Any, ...]]:
        return self.warehouse.execute(query).fetchall()

    def whole(self) -> Any:
        """All of it: the rows, and where they are files every byte."""
        files = {file: file.read_bytes() for file in self.place.rglob("*") if file.is_file()}
        return files, self.sql(f"FROM {self.release} ORDER BY ALL")

    def rows(self) -> tuple[int, int, int]:
        """Of the source, released, suppressed."""
        ((source, released),) = self.sql(f"SELECT (SELECT count(*) FROM people), count(*) FROM {self.release}")
        return source, released, source - released

    def measured(self) -> Figures:
        (figures,) = self.sql(MEASURED.format(release=self.release))
        return dict(zip(THRESHOLDS, figures, strict=True))

    def must_hold(self) -> None:
        k, distinct_l, alpha_hiv, alpha, alp = self.measured().values()
        assert k >= K
        assert distinct_l >= L
        assert alpha_hiv <= ALPHA_HIV
        assert alpha <= ALPHA
        assert alp <= ALP + 1e-9
        assert {name for name, *_ in self.sql(f"DESCRIBE FROM {self.release}")} == RELEASED

    def must_be_of_tonight(self) -> None:
        """Every row is of somebody in tonight's source and in a known city; few are missing, and no disease is."""
        people = "SELECT disease, receipt FROM people SEMI JOIN cities USING (city)"
        assert self.sql(f"SELECT disease, receipt FROM {self.release} EXCEPT ALL {people}") == []
        source, _, suppressed = self.rows()
        assert 0 <= suppressed <= BUDGET * source
        diseases = "SELECT DISTINCT disease FROM {} ORDER BY disease"
        assert self.sql(diseases.format(self.release)) == self.sql(diseases.format("people"))

    def must_be_alone(self, killed: bool) -> None:
        """There is nothing but the release; what a killed run leaves beside it is hidden, until the next run."""
        tables = {name for (name,) in self.sql("SELECT table_name FROM duckdb_tables()")} - {"people", "cities"}
        beside = os.listdir(self.place.parent)
        if self.export.in_files:
            assert tables == set()
            assert [name for name in beside if not name.startswith(".")] == ["people"]
            assert ".people.duckanon" in beside
            assert len(beside) == 2 + killed
            assert {file.name for file in self.place.rglob("*") if file.is_file()} == {"data_0.parquet"}
        else:
            assert tables == {"people_anonymous", "releases", "release_constraints"}
            assert beside == []


# -- how a run goes -------------------------------------------------------------------------------

NIGHTLY = ("--if-changed", "--wait", "60")


def ended(process: subprocess.Popen[str], log: str = "") -> Ended:
    _, rest = process.communicate()
    return Ended(process.returncode, log + rest)


def as_scheduled(export: Export) -> list[Ended]:
    return [export.run(*NIGHTLY)]


def on_a_full_disk(export: Export) -> list[Ended]:
    """No file grows beyond what a ledger needs: there is room for its line, not for the release."""
    return [ended(export.start(*NIGHTLY, limited=True))]


def halfway(number: signal.Signals) -> Callable[[Export], list[Ended]]:
    """Gets the signal while the release is being written."""

    def run(export: Export) -> list[Ended]:
        process, log = export.start(*NIGHTLY), ""
        assert process.stderr is not None
        for line in process.stderr:
            log += line
            if json.loads(line)["step"] == "search":
                break
        while not export.is_being_written() and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(number)
        return [ended(process, log)]

    return run


def two_at_once(*options: str) -> Callable[[Export], list[Ended]]:
    def run(export: Export) -> list[Ended]:
        return [ended(process) for process in [export.start(*options), export.start(*options)]]

    return run


def beside_a_writer(export: Export) -> list[Ended]:
    with duckdb.connect(str(export.folder.database)):
        return [ended(export.start("--if-changed"))]


# -- the nights -----------------------------------------------------------------------------------

CITIES = "CREATE TABLE cities AS FROM (VALUES ('Boston', 'MA'), ('Lowell', 'MA'), ('Bangor', 'ME')) AS c (city, state)"

INVENTED = """
SELECT 'person ' || (1e9 * random())::BIGINT AS name, (18 + floor(60 * random()))::INTEGER AS age,
    '0' || (2100 + floor(40 * random()))::INTEGER AS zip,
    ['Boston', 'Boston', 'Lowell', 'Bangor'][1 + floor(4 * random())::INTEGER] AS city,
    ['flu', 'flu', 'flu', 'flu', 'asthma', 'asthma', 'asthma', 'cough', 'cough', 'cancer', 'HIV'][
        1 + floor(11 * random())::INTEGER
    ] AS disease,
    md5(random()::VARCHAR) AS receipt
FROM range({count})
"""


def newcomers(count: int) -> str:
    return "INSERT INTO people BY NAME " + INVENTED.format(count=count)


def moved_to(city: str) -> str:
    return f"UPDATE people SET city = '{city}' WHERE random() < 0.01"


def copies(count: int, disease: str = "disease") -> str:
    """A load that went wrong: everybody is there many times more, until it is taken back the next day."""
    copy = f"p.* REPLACE ('copy' AS name, {disease} AS disease, md5(random()::VARCHAR) AS receipt)"
    return f"INSERT INTO people SELECT {copy} FROM people AS p, range({count})"


LIFE = (
    "DELETE FROM people WHERE name = 'copy'",
    "DELETE FROM people WHERE random() < 0.03",
    "UPDATE people SET age = age + 1 WHERE random() < 0.1",
    "UPDATE people SET city = 'Lowell', zip = '02139' WHERE random() < 0.02",
    newcomers(100),
)
FLOOD = (*LIFE, copies(100))
SUPPRESSING = ('unmapped = "error"', 'unmapped = "suppress"')


@dataclass(frozen=True)
class Night:
    """What happens to source and policy, how the export is run, and how its runs end."""

    story: str
    changes: tuple[str, ...] = LIFE
    edit: tuple[str, str] = ("", "")  # what is said otherwise in the policy from now on
    run: Callable[[Export], list[Ended]] = as_scheduled
    ends: tuple[str, ...] = ("released",)


LIVELY = [
    Night("the first release"),
    Night("people come, change and go"),
    Night("nothing has changed", (), ends=("unchanged",)),
    Night("a city that nobody has mapped", (*LIFE, moved_to("Salem")), ends=("error",)),
    Night("it is mapped", (*LIFE, "INSERT INTO cities VALUES ('Salem', 'MA')")),
    Night("people of unknown cities are left out from now on", (*LIFE, moved_to("Atlantis")), SUPPRESSING),
    Night("a new disease", (*LIFE, "UPDATE people SET disease = 'measles' WHERE random() < 0.05")),
    Night("a new column", (*LIFE, "ALTER TABLE people ADD COLUMN phone VARCHAR"), ends=("error",)),
    Night("it has its role", edit=('identifiers = ["name"]', 'identifiers = ["name", "phone"]')),
    Night("half of the people are gone", (*LIFE, "DELETE FROM people WHERE random() < 0.5")),
    Night("and others come", (*LIFE, newcomers(1500))),
    Night("an epidemic", (*LIFE, copies(3, "'flu'")), ends=("infeasible",)),
    Night("it is over"),
]
ROUGH = [
    Night("the disk is full", FLOOD, run=on_a_full_disk, ends=("error",)),
    Night("stopped", FLOOD, run=halfway(signal.SIGTERM), ends=("interrupted",)),
    Night("killed", FLOOD, run=halfway(signal.SIGKILL), ends=("killed",)),
    Night("the same load once more", ()),
    Night("started twice; one waits", run=two_at_once(*NIGHTLY), ends=("released", "unchanged")),
    Night("started twice; one goes", FLOOD, run=two_at_once("--if-changed"), ends=("released", "second")),
]
LATE = [
    Night("somebody writes into the warehouse", run=beside_a_writer, ends=("shut out",)),
    Night("nobody does", ()),
    Night("a disease dies out", (*LIFE, "DELETE FROM people WHERE disease = 'measles'")),
]


@pytest.mark.parametrize(
    ("target", "nights"),
    [(FOLDER, [*LIVELY, *ROUGH, *LATE]), (TABLE, [LIVELY[0], *ROUGH[:5]])],
    ids=["folder", "table"],
)
def test_what_is_published_stands_whatever_the_night(folder: Folder, target: str, nights: list[Night]) -> None:
    export, lines = Export(folder, target), list[Line]()
    folder.sql(*seeded(0), CITIES, "CREATE TABLE people AS " + INVENTED.format(count=3000))
    for number, night in enumerate(nights, start=1):
        folder.sql(*seeded(number), *night.changes)
        export.text = export.text.replace(*night.edit)
        lines += live_through(export, night)
    must_tell(export.ledger, lines)
    assert not lock_of(folder.policy(export.text), folder).exists()


def seeded(number: int) -> tuple[str, str]:
    """From here on chance is the same every time."""
    return "SET threads = 1", f"SELECT setseed({number / 100})"


def live_through(export: Export, night: Night) -> list[Line]:
    """One night; what the ledger should say of it in the end."""
    with export.seen() as published:
        before = None if "released" in night.ends else published.whole()
    began = now()
    runs = night.run(export)
    finished = now()
    assert sorted(run.outcome for run in runs) == sorted(night.ends), (night.story, [run.log for run in runs])
    assert [run.code for run in runs] == [CODES[run.outcome] for run in runs]
    with export.seen() as published:
        if before is None:
            published.must_be_of_tonight()
        else:
            assert published.whole() == before, night.story
        published.must_hold()
        published.must_be_alone(killed="killed" in night.ends)
        told = IN_A_FILE if export.in_files else IN_THE_LEDGER
        outcomes = [told[run.outcome] for run in runs if run.outcome in told]
        # Who is shut out ends first, and who finds nothing to do has waited for the other.
        outcomes.sort(key=lambda outcome: GOOD.index(outcome) if outcome in GOOD else -1)
        return [line_of(outcome, published, began, finished) for outcome in outcomes]


def line_of(outcome: str, published: Published, began: datetime, finished: datetime) -> Line:
    if outcome == "released":
        return Line(outcome, published.rows(), published.measured(), began, finished)
    if outcome == "unchanged":
        return Line(outcome, published.rows(), {}, began, finished)
    counted = (published.rows()[0], 0, 0) if outcome == "infeasible" else (None, None, None)
    return Line(outcome, counted, {}, began, finished)


def must_tell(ledger: Path, lines: list[Line]) -> None:
    """The ledger has these lines in this order, and no others."""
    entries = rows_of(ledger, "FROM duckanon.releases ORDER BY rowid")
    assert [entry["outcome"] for entry in entries] == [line.outcome for line in lines]
    for entry, line in zip(entries, lines, strict=True):
        assert (entry["rows_source"], entry["rows_released"], entry["rows_suppressed"]) == line.rows
        assert line.began <= entry["finished_at"] <= line.finished
        assert (entry["message"] is None) == (line.outcome in ("released", "unchanged", "interrupted"))
        constraints = rows_of(ledger, f"FROM duckanon.release_constraints WHERE release_id = '{entry['id']}'")
        assert {(c["name"], c["value"]): c["measured"] for c in constraints} == pytest.approx(line.measured)
        assert all(c["holds"] and c["threshold"] == THRESHOLDS[c["name"], c["value"]] for c in constraints)


def now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
