"""The command line: the words of the contract, and nothing but words."""

from __future__ import annotations

import argparse
import io
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from duckanon.errors import DuckanonError, Fault, PolicyError
from duckanon.policy import Policy
from duckanon.version import VERSION

if TYPE_CHECKING:
    from duckanon.engine.duckdb import DuckDB
    from duckanon.result import Result

GOOD, FAILS, WRONG, INTERRUPTED = 0, 1, 2, 130


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ≥ must not change the outcome
    try:
        code: int = options.command(options)
        return code
    except DuckanonError as error:
        return _failed(options, str(error), WRONG)
    except KeyboardInterrupt:
        return _failed(options, "interrupted; nothing was written", INTERRUPTED)
    except OSError as error:
        return _failed(options, f"{error.filename or 'the system'}: {error.strerror or error}", WRONG)
    except Exception as error:
        return _failed(options, f"unexpected {type(error).__name__}; --debug shows where (it may show values)", WRONG)


def _say(text: str, stream: TextIO | None = None) -> None:
    """Print. A reader that has gone, or a full disk behind the pipe, does not change the outcome."""
    stream = stream or sys.stdout
    try:
        print(text, file=stream, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"duckanon: the answer could not be written: {error.strerror}", file=sys.stderr)


def _failed(options: argparse.Namespace, message: str, code: int) -> int:
    if options.debug:
        traceback.print_exc()
    print(f"duckanon: {message}", file=sys.stderr)
    return code


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


# -- the commands ---------------------------------------------------------------------------------


def _demo(options: argparse.Namespace) -> int:
    from duckanon.demo import demo

    result = demo(options.into, _say)
    return GOOD if result.good else FAILS


def _run(options: argparse.Namespace) -> int:
    from duckanon.run import run

    policy = Policy.load(options.policy)
    writable = policy.release.kind in ("table", "view") and not options.dry_run
    with _open(policy, options.db, writable, options) as engine, _Progress() as progress:
        result = run(policy, engine, replace=options.replace, dry_run=options.dry_run, progress=progress.say)
    return _told(result, options.json)


def _check(options: argparse.Namespace) -> int:
    from duckanon.check import check

    policy = Policy.load(options.policy)
    with _open(policy, options.db, False, options) as engine:
        result = check(policy, engine, release=options.release)
    return _told(result, options.json)


def _sql(options: argparse.Namespace) -> int:
    if (options.policy is None) == (options.metrics is None):
        raise PolicyError([Fault("duckanon sql", "takes a policy or --metrics TABLE: one of them, not both")])
    if options.metrics is not None:
        from duckanon.portable import metrics_script

        numeric = frozenset(options.numeric)
        _say(metrics_script(options.metrics, options.qi or [], options.sensitive, options.dialect, numeric=numeric))
        return GOOD
    from duckanon.script import script

    policy = Policy.load(options.policy)
    with _open(policy, options.db, writable=False) as engine:
        _say(script(policy, engine, options.levels, options.dialect))
    return GOOD


def _hierarchy(options: argparse.Namespace) -> int:
    from duckanon.hierarchy.show import builtins_text, show

    if options.policy is None:
        _say(builtins_text())
        return GOOD
    policy = Policy.load(options.policy)
    with _open(policy, options.db, writable=False) as engine:
        text, faults = show(policy, engine, options.column, options.csv)
    if text:
        _say(text)
    for fault in faults:
        _say(f"duckanon: {fault}", sys.stderr)
    return WRONG if faults else GOOD


def _metrics(options: argparse.Namespace) -> int:
    from duckanon.metrics import measure, metrics_text, open_source

    with open_source(options.source, options.db) as engine:
        found = measure(engine, options.source, options.qi, options.sensitive, options.k)
    _say(json.dumps(found.as_json(), ensure_ascii=False, default=str) if options.json else metrics_text(found))
    return GOOD


def _install(options: argparse.Namespace) -> int:
    from duckanon.engine.duckdb import DuckDB

    with DuckDB.open(options.database, writable=True) as engine:
        installed = engine.install_macros()
    _say(f"{options.database}: {installed} macros in schema duckanon; try FROM duckanon.k_anonymity('t', ['a', 'b'])")
    return GOOD


def _told(result: Result, as_json: bool) -> int:
    from duckanon.report import summary

    if as_json:
        _say(json.dumps(result.as_json(), ensure_ascii=False, default=str))
        for reason in result.reasons:
            _say(f"duckanon: {reason}", sys.stderr)
    else:
        _say(summary(result), sys.stdout if result.good else sys.stderr)
    return GOOD if result.good else FAILS


def _open(policy: Policy, override: Path | None, writable: bool, options: argparse.Namespace | None = None) -> DuckDB:
    """The policy's database, or the one given on the command line."""
    from duckanon.engine.duckdb import DuckDB
    from duckanon.engine.opening import Limits

    path = override if override is not None else policy.source.database
    if path is None and policy.source.table is not None:
        fault = Fault("source.database", "is missing", "name the database of the table there, or with --db")
        raise PolicyError([fault], policy.file)
    limits = Limits(options.memory_limit, options.threads) if options else None
    return DuckDB.open(path, writable, limits)


class _Progress:
    """One line on a terminal, rewritten; nothing at all when piped."""

    def __init__(self) -> None:
        self.shown = sys.stderr.isatty()

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def say(self, message: str) -> None:
        if self.shown:
            print(f"\r\033[K{message} …", end="", file=sys.stderr, flush=True)


# -- the words ------------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="duckanon",
        description="Anonymize tables of people where they lie: inside the database, in plain SQL.",
        epilog="Exit codes: 0 released, or holds; 1 a constraint does not hold, or no feasible release; "
        "2 wrong usage, policy, data or database.",
    )
    parser.add_argument("--version", action="version", version=f"duckanon {VERSION}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    demo = _add(commands, "demo", _demo, "run a complete example on built-in data", "duckanon demo --into try-it")
    demo.add_argument("--into", type=Path, metavar="DIR", help="keep the example in this folder")
    run = _add(commands, "run", _run, "search, release, and verify the release", "duckanon run patients.toml")
    _policy_arguments(run)
    run.add_argument("--dry-run", action="store_true", help="search and verify, but write nothing")
    run.add_argument("--replace", action="store_true", help="replace a release that this policy did not make")
    run.add_argument("--json", action="store_true", help="print one JSON document")
    check = _add(commands, "check", _check, "measure the source against the policy", "duckanon check patients.toml")
    _policy_arguments(check)
    check.add_argument("--release", action="store_true", help="measure the existing release instead of the source")
    check.add_argument("--json", action="store_true", help="print one JSON document")
    sql = _add(
        commands, "sql", _sql, "print the SQL that a run executes", "duckanon sql patients.toml --levels age=2,zip=1"
    )
    sql.add_argument("policy", nargs="?", metavar="POLICY", help="the policy file (TOML)")
    sql.add_argument("--db", type=Path, metavar="DB", help="the DuckDB file, instead of source.database")
    sql.add_argument("--metrics", metavar="TABLE", help="print the metrics of this table as plain SELECTs; no policy")
    _question_arguments(sql, required=False)
    sql.add_argument(
        "--numeric", action="append", default=[], metavar="S", help="a sensitive column that holds numbers"
    )
    sql.add_argument("--levels", metavar="COLUMN=LEVEL,…", help="this node of the lattice (default: search for it)")
    sql.add_argument("--dialect", default="duckdb", help="the SQL dialect to print, such as postgres (default duckdb)")
    hierarchy = _add(
        commands, "hierarchy", _hierarchy, "show the hierarchies of a policy, or the ready-made ones",
        "duckanon hierarchy patients.toml age",
    )  # fmt: skip
    hierarchy.add_argument(
        "policy", nargs="?", metavar="POLICY", help="the policy file (none: list the ready-made ones)"
    )
    hierarchy.add_argument("column", nargs="?", metavar="COLUMN", help="only this quasi-identifier")
    hierarchy.add_argument("--csv", action="store_true", help="print the column's hierarchy as a hierarchy file")
    hierarchy.add_argument("--db", type=Path, metavar="DB", help="the DuckDB file, instead of source.database")
    metrics = _add(
        commands,
        "metrics",
        _metrics,
        "privacy metrics of any table or file",
        "duckanon metrics patients --db warehouse.duckdb --qi age --qi zip --sensitive diagnosis",
    )
    metrics.add_argument(
        "source", metavar="SOURCE", help="a table or view of the database, or a CSV, Parquet or JSON file"
    )
    metrics.add_argument("--db", type=Path, metavar="DB", help="the DuckDB file that holds the table")
    _question_arguments(metrics)
    metrics.add_argument("--k", type=_at_least_one, default=5, help="the least class size for rows at risk (default 5)")
    metrics.add_argument("--json", action="store_true", help="print one JSON document")
    install = _add(
        commands,
        "install",
        _install,
        "install the analysts' macros in a DuckDB file",
        "duckanon install warehouse.duckdb",
    )
    install.add_argument("database", type=Path, metavar="DB", help="the DuckDB file")
    return parser


def _question_arguments(parser: Any, required: bool = True) -> None:
    parser.add_argument("--qi", action="append", required=required, metavar="A", help="a quasi-identifier; repeat it")
    parser.add_argument("--sensitive", action="append", default=[], metavar="S", help="a sensitive column; repeat it")


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, found '{text}'")
    return int(text)


def _add(commands: Any, name: str, command: Callable[[argparse.Namespace], int], what: str, example: str) -> Any:
    parser = commands.add_parser(
        name,
        help=what,
        description=what[0].upper() + what[1:] + ".",
        epilog=f"Example:  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--debug", action="store_true", help="show where an error comes from")
    parser.set_defaults(command=command)
    return parser


def _policy_arguments(parser: Any) -> None:
    parser.add_argument("policy", metavar="POLICY", help="the policy file (TOML)")
    parser.add_argument("--db", type=Path, metavar="DB", help="the DuckDB file, instead of source.database")
    parser.add_argument(
        "--memory-limit", metavar="SIZE", help="memory that DuckDB may take, such as 2GB"
    )
    parser.add_argument("--threads", type=int, metavar="N", help="threads that DuckDB may use")


if __name__ == "__main__":
    sys.exit(main())
