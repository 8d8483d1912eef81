"""A complete example on built-in data: makes a warehouse, anonymizes its table, shows before and after."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from sqlglot import exp

from duckanon import resources
from duckanon.engine import Warehouse
from duckanon.errors import Fault, ReleaseError, UsageError
from duckanon.policy import Policy
from duckanon.policy.database import Database, ServerAddress
from duckanon.query.expressions import sql, table
from duckanon.result import Result

DATABASE, POLICY = "warehouse.duckdb", "patients.toml"
SCHEMA = "duckanon_demo"  # of a server
_TABLES = ("dim_city", "patients")
# Any five rows, the same each time: by what stands in them.
_SHOWN = "MD5(age || zip || admitted || city || education || COALESCE(diagnosis, ''))"
_SOME = exp.select("*").order_by(sql(_SHOWN)).limit(5)


def demo(into: Path | None, say: Callable[[str], None], server: Database | None = None) -> Result:
    """Run the demo in `into`, which keeps it, or in a temporary folder; its tables in a file there, or on a server."""
    if server is not None and not isinstance(server, ServerAddress):
        remedy = "leave it out, or name a server; --into DIR keeps the example's own file"
        raise UsageError([Fault("--db", "the demo makes a file of its own", remedy)])
    place = nullcontext(str(into)) if into else tempfile.TemporaryDirectory(prefix="duckanon-demo-")
    with place as name:
        folder = Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        return _demo(folder, into is not None, server, say)


def _demo(folder: Path, kept: bool, server: ServerAddress | None, say: Callable[[str], None]) -> Result:
    from duckanon import run
    from duckanon.cli.report import summary
    from duckanon.engine.opening import open_warehouse

    for name in (DATABASE, POLICY):
        if (folder / name).exists():
            raise ReleaseError(f"{folder / name} exists already; choose an empty folder for the demo")
    script = (resources.folder("sql") / "demo.sql").read_text(encoding="utf-8")
    text = (resources.folder("sql") / "demo.toml").read_text(encoding="utf-8")
    place, text, schema = _made(folder, server, script, text)
    (folder / POLICY).write_text(text, encoding="utf-8")
    say(f"A warehouse with 12,000 invented patients: {place}\n")
    with open_warehouse(place, writable=True) as warehouse:
        say("Before, the first rows of patients:")
        say(_rows(warehouse, table(*schema, "patients"), exp.select("*").limit(5)))
        say(f"\nThe policy, {POLICY}:\n")
        say("\n".join(f"    {line}" for line in text.rstrip().splitlines()))
        say(f"\n$ duckanon run {POLICY}{f' --db {server}' if server else ''}\n")
        result = run(Policy.load(folder / POLICY), warehouse)
        say(summary(result))
        if result.good:
            say("\nAfter, some rows of patients_anonymous:")
            say(_rows(warehouse, table(*schema, "patients_anonymous"), _SOME))
    if kept:
        beside = f" --db {server}" if server else ""
        say(f"\nAll of it is kept in {folder}: try `duckanon check {folder / POLICY}{beside} --release`.")
    if server:
        say(f"\nThe tables stay on the server, in the schema {SCHEMA}; its ledger, if any, in the schema duckanon.")
    return result


def _made(
    folder: Path, server: ServerAddress | None, script: str, policy: str
) -> tuple[Database, str, tuple[str, ...]]:
    """The example's tables: where they are, the policy that finds them there, and the schema that they are in."""
    from duckanon.engine.opening import make_database, open_warehouse

    if server is None:
        make_database(folder / DATABASE, script)
        return folder / DATABASE, policy, ()
    with open_warehouse(server, writable=True) as warehouse:
        if any(warehouse.relations(SCHEMA)):
            remedy = f"drop it first: DROP SCHEMA {SCHEMA} CASCADE"
            raise ReleaseError(f"{warehouse.location} has a schema {SCHEMA} already; {remedy}")
        for statement in filter(str.strip, script.split(";\n")):
            warehouse.workbench.run(statement)
        warehouse.execute(sql(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))
        for name in _TABLES:
            warehouse.keep(table(SCHEMA, name), exp.select("*").from_(table(name)), "the demo")
    named = policy.replace(f'database = "{DATABASE}"\n', "")
    for name in (*_TABLES, "patients_anonymous"):
        named = named.replace(f'"{name}"', f'"{SCHEMA}.{name}"')
    return server, named.replace(f'name = "{SCHEMA}.patients"', 'name = "patients"'), (SCHEMA,)


def _rows(warehouse: Warehouse, relation: exp.Table, some: exp.Select) -> str:
    from duckanon.cli.report import table_text

    names = [column.name for column in warehouse.columns(relation)]
    return table_text(names, warehouse.fetch(some.from_(relation)))
