"""A complete example on built-in data: makes a warehouse, anonymizes its table, shows before and after."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from duckanon import resources
from duckanon.engine import Warehouse
from duckanon.errors import ReleaseError
from duckanon.policy import Policy
from duckanon.query.expressions import table
from duckanon.result import Result

DATABASE, POLICY = "warehouse.duckdb", "patients.toml"


def demo(into: Path | None, say: Callable[[str], None]) -> Result:
    """Run the demo in `into`, which keeps it, or in a temporary folder."""
    place = nullcontext(str(into)) if into else tempfile.TemporaryDirectory(prefix="duckanon-demo-")
    with place as name:
        folder = Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        return _demo(folder, kept=into is not None, say=say)


def _demo(folder: Path, kept: bool, say: Callable[[str], None]) -> Result:
    from duckanon import run
    from duckanon.cli.report import summary
    from duckanon.engine.opening import make_database, open_warehouse

    for name in (DATABASE, POLICY):
        if (folder / name).exists():
            raise ReleaseError(f"{folder / name} exists already; choose an empty folder for the demo")
    sql = resources.folder("sql")
    text = (sql / "demo.toml").read_text(encoding="utf-8")
    (folder / POLICY).write_text(text, encoding="utf-8")
    make_database(folder / DATABASE, (sql / "demo.sql").read_text(encoding="utf-8"))
    say(f"A warehouse with 12,000 invented patients: {folder / DATABASE}\n")
    with open_warehouse(folder / DATABASE, writable=True) as warehouse:
        say("Before, the first rows of patients:")
        say(_rows(warehouse, "patients", "LIMIT 5"))
        say(f"\nThe policy, {POLICY}:\n")
        say("\n".join(f"    {line}" for line in text.rstrip().splitlines()))
        say(f"\n$ duckanon run {POLICY}\n")
        result = run(Policy.load(folder / POLICY), warehouse)
        say(summary(result))
        if result.good:
            say("\nAfter, some rows of patients_anonymous:")
            say(_rows(warehouse, "patients_anonymous", "USING SAMPLE 5 ROWS (reservoir, 7)"))
    if kept:
        say(f"\nAll of it is kept in {folder}: try `duckanon check {folder / POLICY} --release`.")
    return result


def _rows(warehouse: Warehouse, name: str, some: str) -> str:
    from duckanon.cli.report import table_text

    names = [column.name for column in warehouse.columns(table(name))]
    return table_text(names, warehouse.fetch(f"FROM {name} {some}"))
