"""An exploration of a policy in this process: what its page is told, and the server behind which it stands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from duckanon.engine.opening import open_warehouse
from duckanon.exploration import Exploration, explored
from duckanon.exploration.guard import Guard
from duckanon.exploration.server import guarded
from duckanon.policy import Policy
from duckanon.policy.database import Database, database_of
from duckanon.watch import Watch
from tests.support.page import Page

PORT = 8765


@contextmanager
def exploring(policy: Path, database: str | None = None) -> Iterator[Exploration]:
    wanted = Policy.load(policy)
    where: Database | None = database_of(database) if database else wanted.source.database
    with open_warehouse(where, writable=False) as warehouse, explored(wanted, warehouse, Watch()) as exploration:
        yield exploration


def guarded_at(exploration: Exploration, policy: Path, port: int = PORT) -> Guard:
    return guarded(exploration, policy, lambda path: f"duckanon run {path}", port)


@dataclass(frozen=True)
class Shown:
    """An answer on figures, as the page shows it."""

    told: dict[str, Any]

    @property
    def page(self) -> Page:
        return Page(self.told["figures"] + "".join(column["html"] for column in self.told["columns"]))


def must_be_those_of(shown: Page, told: dict[str, Any], holds: bool) -> None:
    """The figures of a page are those of `check --levels --json`."""
    assert holds == (told["status"] == "holds")
    for name in ("released", "suppressed"):
        assert shown.only(f"rows.{name}") == told["rows"][name]
    assert shown.only("budget") == told["budget"]
    assert shown.only("classes") == told["classes"]
    for name in ("k", "highest_risk"):
        assert shown.only(f"privacy.{name}") == pytest.approx(told["privacy"][name])
    assert shown.figures["threshold"] == [constraint["threshold"] for constraint in told["constraints"]]
    assert shown.figures["measured"] == pytest.approx([constraint["measured"] for constraint in told["constraints"]])
    assert shown.only("utility.ncp") == pytest.approx(told["utility"]["ncp"])
    for column, lost in told["utility"]["columns"].items():
        assert shown.only(f"utility.columns.{column}.ncp") == pytest.approx(lost["ncp"])
