"""The commands that make a page: the report of a release, and the explorer."""

from __future__ import annotations

import argparse
import shlex
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from duckanon.cli.asked import GOOD, opened, policy_of, run_of, say
from duckanon.errors import DuckanonError, Fault, Message, UsageError
from duckanon.policy import Policy

if TYPE_CHECKING:
    from duckanon.engine import Warehouse
    from duckanon.pages import ReportFile
    from duckanon.result import Result


def report(options: argparse.Namespace) -> int:
    from duckanon.pages import ReportFile
    from duckanon.pages.gathering import report_of_release

    policy = Policy.load(options.policy)
    page = ReportFile.at(options.output or Path(f"{policy.name}_report.html"), policy, "--output")
    with opened(policy, options.db, False, options) as warehouse:
        told = report_of_release(policy, warehouse, options.run)
    page.write(told)
    say(f"{policy.name}: {page.path} is the report of {told.run or 'the release that stands'}")
    return GOOD


def page_of_run(policy: Policy, options: argparse.Namespace) -> ReportFile:
    """Where the report of a run goes: nothing is released if it cannot go there."""
    from duckanon.pages import ReportFile

    if options.dry_run:
        raise UsageError([Fault("--report", "does not go with --dry-run", "there is no release to report")])
    return ReportFile.at(options.report, policy, "--report")


def reported(page: ReportFile, policy: Policy, warehouse: Warehouse, result: Result) -> Result:
    """The release stands, whatever becomes of its report."""
    from duckanon.pages.gathering import report_of_release, report_of_run

    if result.status not in ("released", "unchanged"):
        return result
    try:
        made = result.status == "released"
        page.write(report_of_run(policy, warehouse, result) if made else report_of_release(policy, warehouse))
    except (DuckanonError, OSError, KeyboardInterrupt) as error:
        why = error.message if isinstance(error, DuckanonError) else str(error) or "interrupted"
        warning = Message.of("the release stands, but its report could not be written: ", why)
        return replace(result, warnings=(*result.warnings, warning))
    return result


def explore(options: argparse.Namespace) -> int:
    from duckanon.cli.interrupts import INTERRUPTED
    from duckanon.cli.log import Terminal
    from duckanon.exploration import explored, server
    from duckanon.exploration.exploring import default_grid

    server.must_be_there()
    policy = policy_of(options)
    with ExitStack() as held:
        place = held.enter_context(server.reserved(options.port))
        warehouse = held.enter_context(opened(policy, options.db, False, options))
        with Terminal() as watch:
            exploration = held.enter_context(explored(policy, warehouse, watch))
        if exploration.is_quick:
            exploration.compare(exploration.setting, default_grid(exploration))
        guard = server.guarded(
            exploration, Path(options.policy), lambda path: shlex.join(run_of(path, options)), server.port_of(place)
        )
        place.listen()
        say(f"{policy.name}: {exploration.census.rows:,} rows are counted; explore them at\n{guard.address}\n"
            "Ctrl-C ends it; keep the address to yourself")  # fmt: skip
        if options.browser:
            held.enter_context(server.opened_in_browser(guard.address))
        try:
            server.serve(guard, place)
        except KeyboardInterrupt:
            say("duckanon: closed; nothing was released", sys.stderr)
            return INTERRUPTED
    return GOOD
