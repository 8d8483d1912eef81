"""The wheel, built and installed in an empty environment, runs the demo: its SQL and hierarchies travel inside it."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.support.environments import install, make_environment, scripts_of
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(out), str(ROOT)], check=True, capture_output=True)
    (built,) = out.glob("*.whl")
    return built


def test_the_wheel_carries_sql_and_hierarchies(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {"duckanon/sql/macros.sql", "duckanon/sql/demo.sql", "duckanon/hierarchies/us_states.csv"} <= set(names)
    assert {"duckanon/pages/style.css", "duckanon/pages/templates/report.html.j2"} <= set(names)
    page = {"explore.js", "explore.css", "templates/explore.html.j2", "templates/figures.html.j2"}
    assert {f"duckanon/exploration/{name}" for name in page} <= set(names)


def test_the_source_distribution_carries_the_documentation(wheel: Path) -> None:
    (built,) = wheel.parent.glob("*.tar.gz")
    with tarfile.open(built) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    pages = {path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.md"), *(ROOT / "docs").iterdir()]}
    assert {"SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/policy.schema.json"} <= pages
    assert pages <= names


def test_the_wheel_says_who_made_it(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    assert "Author: The duckanon developers\n" in archive.read(name).decode("utf-8")


def test_the_wheel_runs_the_demo_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    make_environment(tmp_path / "venv")
    told = install(tmp_path / "venv", str(wheel))
    assert told.returncode == 0, told.stderr
    command = str(scripts_of(tmp_path / "venv") / "duckanon")
    ended = subprocess.run([command, "demo"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "released to table patients_anonymous, and verified there" in ended.stdout
    listed = subprocess.run([command, "hierarchy"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "us_states" in listed.stdout
