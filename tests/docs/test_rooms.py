"""The rooms of the house: data goes one way through them, and only the engine's speaks to a database's client."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.rooms import ROOMS

pytestmark = pytest.mark.unit

PACKAGE = ROOT / "duckanon"
CLIENTS = ("duckdb", "adbc_driver_manager", "adbc_driver_postgresql", "psycopg", "psycopg2", "pyspark")
# What is searched is on the workbench: these rooms know of no place where rows lie.
SEARCHING = ("models", "search", "local")


def imported(path: Path) -> set[str]:
    """The modules that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def test_every_room_is_known() -> None:
    assert {room_of(path) for path in MODULES} == set(ROOMS)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_room_looks_ahead(path: Path) -> None:
    here = ROOMS.index(room_of(path))
    used = {name.split(".")[1] for name in imported(path) if name.startswith("duckanon.")}
    assert [room for room in used if room in ROOMS and ROOMS.index(room) > here] == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_engine_speaks_to_a_client(path: Path) -> None:
    if room_of(path) != "engine":
        assert not {name.split(".")[0] for name in imported(path)} & set(CLIENTS)


@pytest.mark.parametrize(
    "path", [p for p in MODULES if room_of(p) in SEARCHING], ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_who_searches_sees_no_warehouse(path: Path) -> None:
    seen = {node.attr for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Attribute)}
    named = {part for name in imported(path) for part in name.lower().split(".")}
    assert not (seen | named) & {"warehouse", "opening", "database"}


@pytest.mark.parametrize("path", [p for p in MODULES if p.name == "__init__.py"], ids=lambda p: p.parent.name)
def test_a_room_says_what_it_is_for_and_exports_no_more_than_names(path: Path) -> None:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    assert isinstance(body[0], ast.Expr)
    assert all(isinstance(part, (ast.ImportFrom, ast.Assign)) for part in body[1:])


TESTS = sorted((ROOT / "tests").rglob("*.py"))


@pytest.mark.parametrize("path", TESTS, ids=lambda path: str(path.relative_to(ROOT / "tests")))
def test_tests_share_what_is_in_support_and_nothing_else(path: Path) -> None:
    assert [
        name for name in imported(path) if name.startswith("tests.") and not name.startswith("tests.support.")
    ] == []
