"""The command line: the words of the contract, and nothing but words."""

from __future__ import annotations

import argparse
import io
import re
import sys
import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from duckanon.cli import commands, pages
from duckanon.cli.asked import WRONG
from duckanon.cli.interrupts import INTERRUPTED, started
from duckanon.cli.log import JsonLog
from duckanon.errors import DuckanonError, EngineError, FaultsError, said_of
from duckanon.policy.database import database_of
from duckanon.policy.overrides import named
from duckanon.version import VERSION


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    options = parser().parse_args(arguments)
    started()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ≥ must not change the outcome
    try:
        code: int = options.command(options)
        return code
    except DuckanonError as error:
        said = _named(options, error)
        return _failed(options, said, str(said), WRONG)
    except KeyboardInterrupt as error:
        return _failed(options, error, "interrupted; nothing was written", INTERRUPTED)
    except OSError as error:
        return _failed(options, error, f"{error.filename or 'the system'}: {error.strerror or error}", WRONG)
    except Exception as error:
        message = f"unexpected {type(error).__name__}; --debug shows where (it may show values)"
        return _failed(options, error, message, WRONG)


def _named(options: argparse.Namespace, error: DuckanonError) -> DuckanonError:
    """Faults of what the command has set are the command's, not the file's."""
    overrides = getattr(options, "overrides", ())
    return named(error, overrides) if overrides and isinstance(error, FaultsError) else error


def _failed(options: argparse.Namespace, error: BaseException, message: str, code: int) -> int:
    if options.debug:
        traceback.print_exc()
        if isinstance(error, EngineError) and error.sql is not None:
            print(f"duckanon: the statement was: {error.sql}", file=sys.stderr)
    if getattr(options, "log", None):
        outcome, said = ("error", said_of(error)) if code == WRONG else ("interrupted", message)
        (options.watch or JsonLog(None)).step("failed", outcome=outcome, message=said)
    else:
        print(f"duckanon: {message}", file=sys.stderr)
    return code


# -- the words ------------------------------------------------------------------------------------


def parser() -> argparse.ArgumentParser:
    words = argparse.ArgumentParser(
        prog="duckanon",
        description="Anonymize tables of people where they lie: inside the database, in plain SQL.",
        epilog="Exit codes: 0 released, or holds; 1 a constraint does not hold, or no feasible release; "
        "2 wrong usage, policy, data or database.",
    )
    words.add_argument("--version", action="version", version=f"duckanon {VERSION}")
    verbs = words.add_subparsers(title="commands", metavar="COMMAND", required=True)
    demo = _add(verbs, "demo", commands.demo, "run a complete example on built-in data", "duckanon demo --into try-it")
    demo.add_argument("--into", type=Path, metavar="DIR", help="keep the example in this folder")
    demo.add_argument(
        "--db", type=database_of, metavar="DB", help="run it on this server, in a schema duckanon_demo that it makes"
    )
    init = _add(
        verbs, "init", commands.init, "propose a first policy for any table or file", "duckanon init people.csv"
    )
    init.add_argument("source", metavar="SOURCE", help="a table or view of the database, a query, or a file")
    init.add_argument("--db", type=database_of, metavar="DB", help="the database that holds the table")
    init.add_argument("--to", type=Path, metavar="FILE", help="where the policy goes (default: NAME.toml)")
    init.add_argument("--k", type=_at_least_two, default=5, help="the least class size (default 5)")
    init.add_argument("--qi", action="append", default=[], metavar="C", help="a quasi-identifier; repeat it")
    init.add_argument("--sensitive", action="append", default=[], metavar="C", help="a sensitive column; repeat it")
    init.add_argument(
        "--identifier", action="append", default=[], metavar="C", help="a column that names people; repeat it"
    )
    init.add_argument("--json", action="store_true", help="print one JSON document")
    run = _add(verbs, "run", commands.run, "search, release, and verify the release", "duckanon run patients.toml")
    _policy_arguments(run)
    _override_arguments(run)
    run.add_argument("--dry-run", action="store_true", help="search and verify, but write nothing")
    run.add_argument("--replace", action="store_true", help="replace a release that this policy did not make")
    run.add_argument(
        "--if-changed",
        action="store_true",
        help="do nothing if policy, hierarchies and source are as at the last release",
    )
    run.add_argument(
        "--incremental",
        action="store_true",
        help="add the new rows to the last release, at its levels; what was released stays as it is",
    )
    run.add_argument("--report", type=Path, metavar="FILE", help="write a report of the release: a .html or .md file")
    run.add_argument("--log", choices=["json"], help="follow the run as lines of JSON on standard error")
    run.set_defaults(watch=None)
    run.add_argument("--json", action="store_true", help="print one JSON document")
    check = _add(
        verbs, "check", commands.check, "measure the source against the policy", "duckanon check patients.toml"
    )
    _policy_arguments(check)
    _override_arguments(check)
    check.add_argument("--release", action="store_true", help="measure the existing release instead of the source")
    check.add_argument(
        "--levels", metavar="COLUMN=LEVEL,…", help="measure the source at this node of the lattice, as if released"
    )
    check.add_argument("--json", action="store_true", help="print one JSON document")
    compare = _add(
        verbs, "compare", commands.compare, "show other k, budgets and methods side by side",
        "duckanon compare patients.toml --k 3,5,10 --suppression 0,0.02",
    )  # fmt: skip
    _policy_arguments(compare)
    _override_arguments(compare, ",…")
    shape = compare.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print one JSON document")
    shape.add_argument("--csv", action="store_true", help="print a line of CSV per choice")
    report = _add(
        verbs, "report", pages.report, "write a report of a release, to look at and to hand over",
        "duckanon report patients.toml -o patients.html",
    )  # fmt: skip
    _policy_arguments(report)
    report.add_argument("--run", metavar="ID", help="of this run of the ledger (default: the release that stands)")
    report.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="a .html or .md file (default: POLICY_report.html)"
    )
    explore = _add(
        verbs, "explore", pages.explore, "try levels, k, thresholds and methods on a local page",
        "duckanon explore patients.toml",
    )  # fmt: skip
    _policy_arguments(explore)
    _override_arguments(explore)
    explore.add_argument("--port", type=_port, default=0, metavar="N", help="of 127.0.0.1 (default: any that is free)")
    explore.add_argument("--no-browser", dest="browser", action="store_false", help="only print the address")
    history = _add(
        verbs, "history", commands.history, "show the ledger: what was released, when", "duckanon history patients.toml"
    )
    history.add_argument("policy", nargs="?", metavar="POLICY", help="only this policy's runs, from its ledger")
    history.add_argument("--db", type=database_of, metavar="DB", help="the database that holds the ledger")
    history.add_argument("--limit", type=_at_least_one, metavar="N", help="only the last N runs")
    history.add_argument("--json", action="store_true", help="print one JSON document")
    status = _add(
        verbs, "status", commands.status, "whether the last run of each policy went well",
        "duckanon status patients.toml --max-age 26h",
    )  # fmt: skip
    status.add_argument(
        "policies", nargs="*", metavar="POLICY", help="these policies (none: all in the ledger of --db)"
    )
    status.add_argument("--db", type=database_of, metavar="DB", help="the database that holds the ledger")
    status.add_argument("--max-age", type=_age, metavar="AGE", help="how old the last good run may be: 26h, 90m, 7d")
    status.add_argument(
        "--wait", type=_seconds, default=0, metavar="SECONDS", help="wait so long for who holds the ledger"
    )
    status.add_argument("--json", action="store_true", help="print one JSON document")
    sql = _add(
        verbs,
        "sql",
        commands.sql,
        "print the SQL that a run executes",
        "duckanon sql patients.toml --levels age=2,zip=1",
    )
    sql.add_argument("policy", nargs="?", metavar="POLICY", help="the policy file (TOML)")
    sql.add_argument("--db", type=database_of, metavar="DB", help="the database, instead of source.database")
    _override_arguments(sql)
    sql.add_argument("--metrics", metavar="TABLE", help="print the metrics of this table as plain SELECTs; no policy")
    _question_arguments(sql, required=False)
    sql.add_argument(
        "--numeric", action="append", default=[], metavar="S", help="a sensitive column that holds numbers"
    )
    sql.add_argument(
        "--population", metavar="TABLE", help="with --metrics: a table of everybody, with the same columns"
    )
    sql.add_argument("--levels", metavar="COLUMN=LEVEL,…", help="this node of the lattice (default: search for it)")
    sql.add_argument("--dialect", help="the SQL dialect to print, such as postgres (default: that of the database)")
    hierarchy = _add(
        verbs, "hierarchy", commands.hierarchy, "show the hierarchies of a policy, or the ready-made ones",
        "duckanon hierarchy patients.toml age",
    )  # fmt: skip
    hierarchy.add_argument(
        "policy", nargs="?", metavar="POLICY", help="the policy file (none: list the ready-made ones)"
    )
    hierarchy.add_argument("column", nargs="?", metavar="COLUMN", help="only this quasi-identifier")
    hierarchy.add_argument("--csv", action="store_true", help="print the column's hierarchy as a hierarchy file")
    hierarchy.add_argument("--propose", action="store_true", help="print another one that fits the column's values")
    hierarchy.add_argument("--db", type=database_of, metavar="DB", help="the database, instead of source.database")
    metrics = _add(
        verbs,
        "metrics",
        commands.metrics,
        "privacy metrics of any table or file",
        "duckanon metrics patients --db warehouse.duckdb --qi age --qi zip --sensitive diagnosis",
    )
    metrics.add_argument(
        "source", metavar="SOURCE", help="a table or view of the database, or a CSV, Parquet or JSON file"
    )
    metrics.add_argument("--db", type=database_of, metavar="DB", help="the database that holds the table")
    _question_arguments(metrics)
    metrics.add_argument("--entity", metavar="E", help="the column that names the people, if one may have several rows")
    metrics.add_argument("--k", type=_at_least_one, default=5, help="the least class size for rows at risk (default 5)")
    metrics.add_argument("--json", action="store_true", help="print one JSON document")
    install = _add(
        verbs,
        "install",
        commands.install,
        "install the analysts' macros in a DuckDB file",
        "duckanon install warehouse.duckdb",
    )
    install.add_argument("database", type=Path, metavar="DB", help="the DuckDB file")
    return words


def _question_arguments(parser: Any, required: bool = True) -> None:
    parser.add_argument("--qi", action="append", required=required, metavar="A", help="a quasi-identifier; repeat it")
    parser.add_argument("--sensitive", action="append", default=[], metavar="S", help="a sensitive column; repeat it")


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, found '{text}'")
    return int(text)


def _at_least_two(text: str) -> int:
    if (number := _at_least_one(text)) < 2:
        raise argparse.ArgumentTypeError("must be at least 2: in a class of one nobody hides")
    return number


def _port(text: str) -> int:
    if (number := _at_least_one(text)) > 65_535:
        raise argparse.ArgumentTypeError("must be at most 65535")
    return number


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number of seconds, found '{text}'")
    return seconds


def _age(text: str) -> timedelta:
    units = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
    number, unit = text[:-1], units.get(text[-1:])
    if unit is None or not re.fullmatch(r"\d{1,6}(\.\d+)?", number, re.ASCII):
        raise argparse.ArgumentTypeError(f"must be such as 26h, 90m or 7d, found '{text}'")
    return timedelta(**{unit: float(number)})


def _add(verbs: Any, name: str, command: Callable[[argparse.Namespace], int], what: str, example: str) -> Any:
    parser = verbs.add_parser(
        name,
        help=what,
        description=what[0].upper() + what[1:] + ".",
        epilog=f"Example:  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--debug", action="store_true", help="show where an error comes from, and its SQL")
    parser.set_defaults(command=command)
    return parser


def _override_arguments(parser: Any, several: str = "") -> None:
    """What a policy says otherwise than its file; `several` values of the same kind, to be compared."""
    parser.add_argument("--k", metavar=f"K{several}", help="instead of privacy.k")
    parser.add_argument("--suppression", metavar=f"SHARE{several}", help="instead of privacy.suppression")
    parser.add_argument("--method", metavar=f"METHOD{several}", help="instead of search.method")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="instead of any other key of the policy, such as sensitive.diagnosis.l=2; repeat it",
    )


def _policy_arguments(parser: Any) -> None:
    parser.add_argument("policy", metavar="POLICY", help="the policy file (TOML)")
    parser.add_argument("--db", type=database_of, metavar="DB", help="the database, instead of source.database")
    parser.add_argument("--memory-limit", metavar="SIZE", help="memory that DuckDB may take, such as 2GB")
    parser.add_argument(
        "--wait",
        type=_seconds,
        default=0,
        metavar="SECONDS",
        help="wait so long for another process that holds the database or runs this policy",
    )
    parser.add_argument("--threads", type=int, metavar="N", help="threads that DuckDB may use")
