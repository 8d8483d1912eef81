"""What a small run costs before it has anything to count: the statements that it sends, and what it loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.statements import sent_to_duckdb
from tests.support.command import Command
from tests.support.folder import Folder

# What a plain run has no use for.
_UNUSED = {
    *("pandas", "pyarrow", "numpy", "duckanon.engine.postgres", "duckanon.engine.spark", "duckanon.search.optimal"),
    *("duckanon.local", "duckanon.comparison", "duckanon.analysts", "duckanon.proposal", "duckanon.pages"),
}


def written(folder: Folder, columns: int) -> Path:
    """A policy for a CSV file with so many quasi-identifiers, each with a file of its own."""
    names = [f"c{index}" for index in range(columns)]
    rows = [",".join([*(str((row * (index + 3)) % 8) for index in range(columns)), "flu"]) for row in range(400)]
    (folder.path / "people.csv").write_text("\n".join([",".join([*names, "disease"]), *rows]), encoding="utf-8")
    listed = "".join(f"{value},{value // 2 * 2} or more,{value // 4},*\n" for value in range(8))
    for name in names:
        (folder.path / f"{name}.csv").write_text(listed, encoding="utf-8")
    sections = "".join(f'[quasi_identifiers.{name}]\nhierarchy = "{name}.csv"\n' for name in names)
    text = 'name = "p"\n[source]\nfile = "people.csv"\n[privacy]\nk = 5\nsuppression = 0.1\n[sensitive.disease]\n'
    return folder.policy(f'{text}{sections}[release]\nkind = "csv"\nto = "out{columns}.csv"\n')


def test_a_greedy_run_sends_few_statements_and_two_for_each_hierarchy_file(folder: Folder, duckanon: Command) -> None:
    """One that reads the file, one that makes its mapping table; what is asked of all of them is asked at once."""
    numbers = {}
    for columns in (2, 8):
        with sent_to_duckdb() as sent:
            told = duckanon("run", written(folder, columns), "--json")
        assert (told.code, told.json["status"]) == (0, "released"), told.err
        numbers[columns] = len(sent)
    assert numbers[8] <= 60
    assert numbers[8] - numbers[2] == 2 * 6


def test_a_greedy_run_loads_neither_what_it_does_not_use_nor_pandas(folder: Folder) -> None:
    policy = written(folder, 2)
    code = (
        "import sys\nfrom duckanon.cli.words import main\n"
        f"code = main(['run', {str(policy)!r}])\nprint(*sys.modules, file=sys.stderr)\nsys.exit(code)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(ended.stderr.split())
    assert "duckanon.run" in loaded
    assert not loaded & _UNUSED
