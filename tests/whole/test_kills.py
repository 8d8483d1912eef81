"""kill -9 at nine moments of a run: a reader finds the last release or the new one, whole, and no litter stays."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.examples import MORE
from tests.support.folder import Folder, query
from tests.support.ledgers import lock_of, outcomes
from tests.support.people import NAMED, UNCOMPARED, partitioned, released_to

PARQUET = released_to("parquet", "published/p.parquet") + UNCOMPARED
CSV = released_to("csv", "published/p.csv") + UNCOMPARED
FOLDER = partitioned(to="published/p", by='["disease", "sex"]', more=UNCOMPARED)

READERS = {
    PARQUET: "read_parquet('{}/p.parquet')",
    CSV: "read_csv('{}/p.csv', all_varchar = true)",
    FOLDER: "read_parquet('{}/p/**/*.parquet', hive_partitioning = true, hive_types_autocast = false)",
}


class Export:
    """One policy over two sources of the same size, with other people in them: the days take turns."""

    def __init__(self, people: Folder, text: str) -> None:
        self.people, self.place, self.reader = people, people.path / "published", READERS[text]
        self.place.mkdir()
        self.policies = [self._policy(text, day) for day in (0, 1)]

    def _policy(self, text: str, day: int) -> Path:
        self.people.sql(f"CREATE TABLE day_{day} AS SELECT p.* FROM people AS p, range(150) WHERE age % 2 = {day}")
        return self.people.policy(text.replace('table = "people"', f'table = "day_{day}"') + NAMED, f"{day}.toml")

    def start(self, day: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "duckanon", "run", str(self.policies[day])]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def seconds(self, day: int) -> float:
        """How long a run takes that nobody disturbs."""
        start = time.monotonic()
        assert self.start(day).wait() == 0
        return time.monotonic() - start

    def kill(self, day: int, moment: float) -> None:
        process = self.start(day)
        time.sleep(moment)
        process.kill()
        process.wait()

    def rows(self) -> list[tuple[Any, ...]]:
        """All that any reader finds, counted."""
        columns = "age, zip, sex, disease"
        return query(f"SELECT {columns}, count(*) FROM {self.reader.format(self.place)} GROUP BY ALL ORDER BY ALL")

    def files(self) -> list[str]:
        return sorted(path.name for path in self.place.iterdir())


def moments(count: int, seconds: float) -> list[float]:
    """All over the run but for its first third, when Python starts; one in each part of it, in any order."""
    chance, first = random.Random(7), seconds / 3
    return chance.sample([first + (part + chance.random()) / count * (seconds - first) for part in range(count)], count)


@pytest.mark.parametrize(("text", "kills"), [(PARQUET, 3), (CSV, 2), (FOLDER, 4)], ids=["parquet", "csv", "folder"])
def test_a_kill_at_any_moment_leaves_a_whole_release(people: Folder, text: str, kills: int) -> None:
    export, whole = Export(people, text), []
    for day in (0, 1):
        seconds = export.seconds(day)
        whole.append(export.rows())
    assert whole[0] != whole[1]
    files, stands = export.files(), 1
    for moment in moments(kills * MORE, seconds):
        export.kill(1 - stands, moment)
        found = export.rows()
        assert found in whole
        stands = whole.index(found)
        assert [name for name in export.files() if not name.startswith(".")] == [files[-1]]
    export.seconds(1 - stands)
    assert export.rows() == whole[1 - stands]
    assert export.files() == files
    assert set(outcomes(people.path / "ledger.duckdb")) == {"released"}
    assert not lock_of(export.policies[0], people).exists()
