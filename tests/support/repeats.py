"""A policy that is released again and again, in every mode."""

from __future__ import annotations

from typing import Any

from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.people import PEOPLE


def policy(mode: str = "search", *, difference: str | None = None, kind: str = "table", method: str = "greedy") -> str:
    to = "people_anonymous" if kind in ("table", "view") else f"out.{kind}"
    text = PEOPLE.replace('kind = "table"\nto = "people_anonymous"', f'kind = "{kind}"\nto = "{to}"\nmode = "{mode}"')
    text += f'difference = "{difference}"\n' if difference else ""
    text += f'[search]\nmethod = "{method}"\n'
    return text + ('[ledger]\ndatabase = "ledger.duckdb"\n' if kind not in ("table", "view") else "")


def released(duckanon: Command, folder: Folder, text: str, *options: str) -> dict[str, Any]:
    told = duckanon("run", folder.policy(text), "--json", *options)
    assert told.code == 0, told.out + told.err
    result: dict[str, Any] = told.json
    return result
