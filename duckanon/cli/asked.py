"""What every command is asked, and how it answers: the policy as it is run, the database, and the exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from duckanon.errors import Fault, PolicyError
from duckanon.policy import Policy
from duckanon.policy.database import Database
from duckanon.policy.overrides import SHORT, given

if TYPE_CHECKING:
    from duckanon.engine import Warehouse

GOOD, FAILS, WRONG = 0, 1, 2


def say(text: str, stream: TextIO | None = None) -> None:
    """Print. A reader that has gone, or a full disk behind the pipe, does not change the outcome."""
    stream = stream or sys.stdout
    try:
        print(text, file=stream, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"duckanon: the answer could not be written: {error.strerror}", file=sys.stderr)


def policy_of(options: argparse.Namespace) -> Policy:
    """The policy as it is run: what its file says, but for what the command does."""
    from duckanon.policy.load import load_policy

    options.overrides = given(short(options), options.set)
    return load_policy(Path(options.policy), options.overrides)


def short(options: argparse.Namespace) -> dict[str, str | None]:
    return {word: getattr(options, word.strip("-")) for word in SHORT}


def database_for(policy: Policy, override: Database | None) -> Database | None:
    """The policy's database, or the one given on the command line."""
    return override if override is not None else policy.source.database


def opened(
    policy: Policy, override: Database | None, writable: bool, options: argparse.Namespace | None = None
) -> Warehouse:
    from duckanon.engine.opening import Limits, open_warehouse

    database = database_for(policy, override)
    if database is None and policy.source.table is not None:
        fault = Fault("source.database", "is missing", "name the database of the table there, or with --db")
        raise PolicyError([fault], policy.file)
    limits = Limits(options.memory_limit, options.threads) if options else None
    return open_warehouse(database, writable, limits, wait=options.wait if options else None)


def run_of(policy: Path | str, options: argparse.Namespace) -> list[str]:
    """The words that run a policy on the same database."""
    return ["duckanon", "run", str(policy), *(("--db", str(options.db)) if options.db else ())]
