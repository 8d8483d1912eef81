"""Makes the pictures of both pages in docs/ anew, of the demo: python -m tests.support.screenshots"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, expect

from duckanon.cli.words import main
from duckanon.exploration.exploring import default_grid
from duckanon.exploration.server import port_of, reserved
from tests.support.browser import browser, served
from tests.support.exploring import exploring, guarded_at
from tests.support.paths import ROOT

_DOCS = ROOT / "docs"
_SCHEMES: dict[str, Literal["light", "dark"]] = {"": "light", "_dark": "dark"}


def pictures() -> None:
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        policy, page = Path(folder, "patients.toml"), Path(folder, "report.html")
        for words in (["demo", "--into", folder], ["run", str(policy), "--report", str(page)]):
            if main(words):
                sys.exit(1)
        _picture(chromium, page.as_uri(), "report", (900, 1500))
        with exploring(policy) as exploration, reserved(0) as place:
            exploration.compare(exploration.setting, default_grid(exploration))
            guard = guarded_at(exploration, policy, port_of(place))
            with served(guard, place):
                _picture(chromium, guard.address, "explore", (1280, 1180), ".front a")


def _picture(chromium: Browser, address: str, name: str, size: tuple[int, int], awaited: str = "h1") -> None:
    for ending, scheme in _SCHEMES.items():
        page = chromium.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
        page.goto(address)
        expect(page.locator(awaited).first).to_be_visible(timeout=60_000)
        page.screenshot(path=_DOCS / f"{name}{ending}.png")
        page.close()


if __name__ == "__main__":
    pictures()
