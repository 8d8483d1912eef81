"""What a test may need that not every machine has.

A test says so by a marker of that name, or by asking for a fixture that does. Where the thing is missing the test is
skipped; where DUCKANON_REQUIRE names it (`adult,duckdb-cli`), its absence is an error.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

import pytest

from tests.support.adult import ADULT


def duckdb_shell() -> str | None:
    """The command line of DuckDB: that of this environment, or another."""
    return shutil.which("duckdb", path=str(Path(sys.executable).parent)) or shutil.which("duckdb")


def installed_postgres() -> Path | None:
    """The folder with the programs of the PostgreSQL that the system has, the oldest of several."""
    found = [*map(Path, filter(None, [shutil.which("pg_ctl")])), *Path("/usr/lib/postgresql").glob("*/bin/pg_ctl")]
    return min(found).parent if found else None


def chromium() -> str | None:
    """The browser that is installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def unless(there: object, why: str) -> str | None:
    return None if there else why


# Why it is missing, if it is. What can be seen only by trying (dbt is installed on the first run) says so there.
NEEDS: Mapping[str, Callable[[], str | None]] = {
    "adult": lambda: unless((ADULT / "adult.csv").exists(), f"the Adult data set is not in {ADULT} (DUCKANON_ADULT)"),
    "chromium": lambda: unless(chromium(), "Chromium is not installed"),
    "dbt": lambda: None,
    "duckdb_cli": lambda: unless(duckdb_shell(), "the duckdb command is not installed"),
    "full_device": lambda: unless(Path("/dev/full").exists(), "there is no /dev/full"),
    "installed_postgres": lambda: unless(installed_postgres(), "PostgreSQL is not installed"),
    "linux": lambda: unless(sys.platform == "linux", "this is not Linux"),
    "many": lambda: unless("PROPERTY_EXAMPLES" in os.environ, "it takes minutes: set PROPERTY_EXAMPLES"),
    "root": lambda: unless(os.name == "posix" and os.getuid() == 0, "only root may do it"),
    "spark": lambda: unless(shutil.which("java"), "Java is not installed"),
}


def required(wish: str | None = None) -> set[str]:
    """What must be there; a name that is none of ours is a mistake in the wish."""
    text = os.environ.get("DUCKANON_REQUIRE", "") if wish is None else wish
    names = {name.strip().replace("-", "_") for name in text.split(",") if name.strip()}
    if unknown := names - set(NEEDS):
        raise pytest.UsageError(
            f"DUCKANON_REQUIRE names {', '.join(sorted(unknown))}; there are {', '.join(sorted(NEEDS))}"
        )
    return names


def missing(name: str, why: str) -> NoReturn:
    """Skip the test, or fail it where what is missing is required."""
    if name in required():
        pytest.fail(f"DUCKANON_REQUIRE asks for {name}: {why}", pytrace=False)
    pytest.skip(why)


def look_for(name: str) -> None:
    if why := NEEDS[name]():
        missing(name, why)
