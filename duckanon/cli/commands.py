"""What each command does: loads the policy, opens the database, says the result."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from duckanon.cli.asked import FAILS, GOOD, WRONG, database_for, opened, policy_of, run_of, say, short
from duckanon.cli.pages import page_of_run, reported
from duckanon.errors import Fault, UsageError
from duckanon.policy import Policy
from duckanon.policy.overrides import SHORT, given

if TYPE_CHECKING:
    from duckanon.comparison import Choice, Comparison
    from duckanon.result import Result


def demo(options: argparse.Namespace) -> int:
    from duckanon.cli import demo as example

    result = example.demo(options.into, say, options.db)
    return GOOD if result.good else FAILS


def init(options: argparse.Namespace) -> int:
    from duckanon.engine.opening import open_warehouse
    from duckanon.proposal.proposal import Given, propose
    from duckanon.proposal.sources import source_named
    from duckanon.proposal.summary import proposal_text

    source = source_named(options.source, options.db)
    given = Given(options.qi, options.sensitive, options.identifier)
    with open_warehouse(options.db, writable=False) as warehouse:
        proposal = propose(source, warehouse, options.k, given, options.to)
    wrote = proposal.write()
    document = json.dumps(proposal.as_json(wrote), ensure_ascii=False)
    say(document if options.json else proposal_text(proposal, wrote))
    return GOOD


def run(options: argparse.Namespace) -> int:
    from duckanon.cli.log import JsonLog, Terminal
    from duckanon.engine.lock import one_at_a_time
    from duckanon.ledger import ReleaseAddress
    from duckanon.ledger.record import noted_if_it_cannot_start
    from duckanon.run import RunOptions, run

    policy = policy_of(options)
    writable = policy.release.is_relation and not options.dry_run
    options.watch = JsonLog(policy.name) if options.log else Terminal()
    database = database_for(policy, options.db)
    address = ReleaseAddress.of(policy, database)
    page = page_of_run(policy, options) if options.report else None
    with ExitStack() as held:
        with noted_if_it_cannot_start(policy, database, options.dry_run):
            # The lock comes first: else a second run would only find that the database is in use.
            held.enter_context(one_at_a_time(None if options.dry_run else address.key, options.wait))
            warehouse = held.enter_context(opened(policy, options.db, writable, options))
            held.enter_context(warehouse.one_at_a_time(None if options.dry_run else address.key, options.wait))
        watch = held.enter_context(options.watch)
        asked = RunOptions(
            options.replace, options.dry_run, options.if_changed, options.incremental, closes=page is None
        )
        result = run(policy, warehouse, address, asked, watch)
        if page is not None:
            result = reported(page, policy, warehouse, result)
    return _told(result, options)


def check(options: argparse.Namespace) -> int:
    from duckanon.audit.check import check
    from duckanon.audit.node import check_node
    from duckanon.cli.log import Terminal

    if options.release and options.levels is not None:
        remedy = "the release is at the levels that it is at"
        raise UsageError([Fault("--levels", "has no meaning with --release", remedy)])
    policy = policy_of(options)
    with opened(policy, options.db, False, options) as warehouse, Terminal() as watch:
        watch.say(f"measuring {policy.name}")
        if options.levels is not None:
            result = check_node(policy, warehouse, options.levels)
        else:
            result = check(policy, warehouse, release=options.release)
    return _told(result, options)


def compare(options: argparse.Namespace) -> int:
    from duckanon.cli.interrupts import INTERRUPTED
    from duckanon.cli.log import Terminal
    from duckanon.comparison import Comparing, Grid
    from duckanon.policy.load import load_policy
    from duckanon.policy.overrides import values

    options.overrides = given({}, options.set)
    grid = Grid(**{word.strip("-"): values(word, text) for word, text in short(options).items()})
    policy = load_policy(Path(options.policy), options.overrides)
    interrupted = False
    with opened(policy, options.db, False, options) as warehouse, Terminal() as watch:
        comparing = Comparing(policy, grid, watch)
        try:
            comparing.run(warehouse)
        except KeyboardInterrupt:
            if not comparing.choices:
                raise
            interrupted = True
    comparison = comparing.so_far()
    say(_compared(comparison, options))
    if interrupted:
        return INTERRUPTED
    return GOOD if any(choice.status == "holds" for choice in comparison.choices) else FAILS


def _compared(comparison: Comparison, options: argparse.Namespace) -> str:
    from duckanon.comparison import told

    def command(choice: Choice) -> str:
        """What is set stays so, but for what the choice changes."""
        changed = [SHORT[word] for word in choice.wanted.changes]
        pairs = zip(options.set, options.overrides, strict=True)
        kept = [("--set", text) for text, override in pairs if override.key not in changed]
        return shlex.join(chain(run_of(options.policy, options), *kept, *choice.wanted.changes.items()))

    if options.json:
        return json.dumps(told.as_json(comparison, command), ensure_ascii=False, default=str)
    return told.as_csv(comparison, command) if options.csv else told.as_text(comparison, command)


def history(options: argparse.Namespace) -> int:
    from duckanon.engine.opening import open_warehouse
    from duckanon.ledger.history import as_text, history

    policy = Policy.load(options.policy) if options.policy else None
    database = (policy.ledger or database_for(policy, options.db)) if policy else options.db
    if database is None:
        what, remedy = "no ledger is named", "give a policy, or a database with --db"
        if policy is not None:
            what, remedy = f"the policy {policy.name} keeps no ledger", '[ledger] database = "ledger.duckdb" names one'
        raise UsageError([Fault("duckanon history", what, remedy)])
    with open_warehouse(database, writable=False) as warehouse:
        runs = history(warehouse, policy.name if policy else None, options.limit)
    say(json.dumps(runs, ensure_ascii=False, default=str) if options.json else as_text(runs))
    return GOOD


def status(options: argparse.Namespace) -> int:
    from duckanon.engine.opening import open_warehouse
    from duckanon.ledger import ReleaseAddress
    from duckanon.ledger.status import every_status, status_json, status_of, status_text

    policies = [Policy.load(path) for path in options.policies]
    if not policies and options.db is None:
        raise UsageError([Fault("duckanon status", "no ledger is named", "give policies, or a database with --db")])
    found = []
    for policy in policies:
        database = database_for(policy, options.db)
        ledger, address = policy.ledger or database, ReleaseAddress.of(policy, database)
        if ledger is None or (isinstance(ledger, Path) and not ledger.exists()):
            found.append(status_of(policy.name, address, None, options.max_age))
            continue
        with open_warehouse(ledger, writable=False, wait=options.wait) as warehouse:
            found.append(status_of(policy.name, address, warehouse, options.max_age))
    if not policies:
        with open_warehouse(options.db, writable=False, wait=options.wait) as warehouse:
            found = every_status(warehouse, options.max_age)
    told = status_json(found)
    say(json.dumps(told, ensure_ascii=False) if options.json else status_text(found))
    return GOOD if told["well"] else FAILS


def sql(options: argparse.Namespace) -> int:
    if (options.policy is None) == (options.metrics is None):
        raise UsageError([Fault("duckanon sql", "takes a policy or --metrics TABLE: one of them, not both")])
    _must_have_a_meaning(options)
    from duckanon.analysts.dialects import OWN

    if options.metrics is not None:
        from duckanon.analysts.portable import metrics_script

        numeric, dialect = frozenset(options.numeric), options.dialect or OWN
        asked = options.metrics, options.qi or [], options.sensitive, dialect
        say(metrics_script(*asked, numeric=numeric, population=options.population))
        return GOOD
    from duckanon.analysts.far_script import far_script
    from duckanon.analysts.script import script
    from duckanon.cli.log import Terminal

    policy = policy_of(options)
    with opened(policy, options.db, writable=False) as warehouse, Terminal() as watch:
        watch.say(f"searching {policy.name}")
        if warehouse.is_workbench:
            printed = script(policy, warehouse, options.levels, options.dialect or OWN)
        else:
            printed = far_script(policy, warehouse, options.levels, options.dialect)
    say(printed)
    return GOOD


def _must_have_a_meaning(options: argparse.Namespace) -> None:
    """An option that would be ignored is a question misunderstood."""
    if options.metrics is not None:
        given = {"--levels": options.levels, "--db": options.db, "--set": options.set}
        given, beside = given | short(options), "--metrics"
        remedy = "it prints SELECTs for a table of any warehouse, as it is"
    else:
        given, beside = {"--qi": options.qi, "--sensitive": options.sensitive, "--numeric": options.numeric}, "a policy"
        given["--population"] = options.population
        remedy = "the policy says which columns are which"
    named = [name for name, value in given.items() if value not in (None, [])]
    if named:
        raise UsageError([Fault(name, f"has no meaning with {beside}", remedy) for name in named])


def hierarchy(options: argparse.Namespace) -> int:
    from duckanon.analysts.hierarchies import builtins_text, show

    if options.policy is None:
        say(builtins_text())
        return GOOD
    policy = Policy.load(options.policy)
    if options.propose:
        return _proposed(policy, options)
    with opened(policy, options.db, writable=False) as warehouse:
        text, faults = show(policy, warehouse, options.column, options.csv)
    if text:
        say(text)
    for fault in faults:
        say(f"duckanon: {fault}", sys.stderr)
    return WRONG if faults else GOOD


def _proposed(policy: Policy, options: argparse.Namespace) -> int:
    from duckanon.proposal.for_column import proposed_for

    if options.column is None or options.csv:
        raise UsageError([Fault("--propose", "goes with a column, and without --csv", "name the column")])
    with opened(policy, options.db, writable=False) as warehouse:
        say(proposed_for(policy, warehouse, options.column))
    return GOOD


def metrics(options: argparse.Namespace) -> int:
    from duckanon.analysts.metrics import measure, metrics_text, open_source
    from duckanon.cli.log import Terminal

    with open_source(options.source, options.db) as warehouse, Terminal() as watch:
        watch.say(f"measuring {options.source}")
        found = measure(warehouse, options.source, options.qi, options.sensitive, options.k, options.entity)
    say(json.dumps(found.as_json(), ensure_ascii=False, default=str) if options.json else metrics_text(found))
    return GOOD


def install(options: argparse.Namespace) -> int:
    from duckanon.engine.opening import install_macros

    installed = install_macros(options.database)
    say(f"{options.database}: {installed} macros in schema duckanon; try FROM duckanon.k_anonymity('t', ['a', 'b'])")
    return GOOD


def _told(result: Result, options: argparse.Namespace) -> int:
    from duckanon.cli.report import summary

    logged = getattr(options, "log", None) is not None  # then standard error belongs to the log
    if options.json:
        say(json.dumps(result.as_json(), ensure_ascii=False, default=str))
        for reason in result.reasons if not logged else ():
            say("duckanon: " + reason, sys.stderr)
    else:
        say(summary(result, options.policy), sys.stdout if result.good or logged else sys.stderr)
    return GOOD if result.good else FAILS
