"""Both pages in a real Chromium: the explorer is used as a person would, by mouse and by keyboard."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from duckanon.cli.words import main
from duckanon.exploration import Exploration, Setting
from duckanon.exploration.server import port_of, reserved
from tests.support.browser import browser as a_browser
from tests.support.browser import faults, overflow, served
from tests.support.command import Command
from tests.support.exploring import exploring, guarded_at, must_be_those_of
from tests.support.folder import Folder
from tests.support.page import Page as Parsed
from tests.support.people import PEOPLE

pytestmark = pytest.mark.chromium


@dataclass(frozen=True)
class Explored:
    folder: Folder
    policy: Path
    exploration: Exploration
    address: str


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with a_browser() as started:
        yield started


@pytest.fixture(scope="module")
def explored(people_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explored]:
    folder = Folder(tmp_path_factory.mktemp("explored"))
    shutil.copy(people_database, folder.database)
    policy = folder.policy(PEOPLE, "people.toml")
    with exploring(policy) as exploration, reserved(0) as place:
        guard = guarded_at(exploration, policy, port_of(place))
        with served(guard, place):
            yield Explored(folder, policy, exploration, guard.address)


@pytest.fixture
def page(chromium: Browser, explored: Explored) -> Iterator[Page]:
    """The explorer, opened; nothing that the browser complains of is passed over."""
    explored.exploration.setting = Setting((3, 2, 0), ("3", "0.1", "2"), "greedy")
    page = chromium.new_page(viewport={"width": 1600, "height": 1000})
    complaints: list[str] = []
    refused = "status of 400"  # which the page says itself
    page.on("console", lambda said: complaints.append(said.text) if refused not in said.text else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(explored.address)
    page.wait_for_url(re.compile(r"/[\w-]+/$"))
    expect(page.locator("#verdict")).to_contain_text("rows fail")
    yield page
    page.close()
    assert complaints == []


def slider(page: Page, column: str) -> Locator:
    return page.get_by_role("slider", name=column)


def shown(page: Page) -> Parsed:
    return Parsed(page.inner_html("#figures") + page.inner_html("#settings"))


def checked(explored: Explored, duckanon: Command, levels: str, *words: str) -> Any:
    return duckanon("check", explored.policy, "--levels", levels, *words, "--json").json


def test_a_slider_is_moved_and_the_figures_are_those_of_check(
    page: Page, explored: Explored, duckanon: Command
) -> None:
    before = explored.folder.database.read_bytes()
    assert "token" not in page.url
    slider(page, "age").fill("1")
    slider(page, "zip").fill("0")
    told = checked(explored, duckanon, "age=1,zip=0,sex=0")
    suppressed = f"{told['rows']['suppressed']} of 200 rows fail"
    expect(page.locator("#verdict")).to_have_text(f"Does not hold: {suppressed}, the budget is 20.")
    must_be_those_of(shown(page), told, holds=False)
    expect(slider(page, "age")).to_have_attribute("aria-valuetext", "level 1 of 4: ranges of 5")
    expect(page.locator("#sample")).to_contain_text("nothing would be released")
    page.get_by_label("k", exact=True).first.fill("2")
    page.get_by_label("budget", exact=True).fill("150")
    told = checked(explored, duckanon, "age=1,zip=0,sex=0", "--k", "2", "--suppression", "150")
    expect(page.locator("#verdict")).to_contain_text("the budget is 150")
    must_be_those_of(shown(page), told, holds=told["status"] == "holds")
    page.get_by_label("l of disease").fill("nonsense")
    expect(page.get_by_role("alert")).to_contain_text("l of disease: must be")
    page.get_by_label("l of disease").fill("2")
    expect(page.get_by_role("alert")).to_have_text("")
    page.reload()
    expect(page.locator("#verdict")).to_contain_text("the budget is 150")
    expect(slider(page, "age")).to_have_value("1")
    assert explored.folder.database.read_bytes() == before


def test_a_search_a_point_of_the_front_and_what_is_saved(page: Page, explored: Explored, duckanon: Command) -> None:
    page.locator("#method").select_option("datafly")
    page.get_by_role("button", name="Search for levels").click()
    expect(page.locator("#found")).to_contain_text("datafly, k 3, budget 0.1: ")
    page.locator("#found summary").click()
    page.locator("#found .take").first.click()
    expect(slider(page, "age")).to_have_value("0")
    page.locator("#grid-k").fill("2,5")
    page.locator("#grid-suppression").fill("0.1")
    page.locator("#grid-methods").fill("optimal")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#progress")).to_have_text("3 of 3 choices compared")
    point = page.get_by_role("link", name=re.compile("^optimal, k 5, budget 0.1: "))
    point.click()
    expect(page.get_by_label("k", exact=True).first).to_have_value("5")
    expect(page.locator("#method")).to_have_value("optimal")
    (taken,) = [
        choice
        for choice in duckanon("compare", explored.policy, "--k", "5", "--method", "optimal", "--json").json["choices"]
        if choice["k"] == 5
    ]
    node = ",".join(f"{name}={level}" for name, level in taken["levels"].items())
    expect(page.locator("#verdict")).to_contain_text(f"Holds: {taken['suppressed']} of 200 rows fail")
    must_be_those_of(shown(page), checked(explored, duckanon, node, "--k", "5"), holds=True)
    expect(page.locator("#sample td").first).to_be_visible()
    page.get_by_label("file").fill("chosen.toml")
    page.get_by_role("button", name="Save").click()
    saved = explored.folder.path / "chosen.toml"
    expect(page.locator("#saved pre")).to_have_text(f"duckanon run {saved}")
    assert duckanon("run", saved, "--dry-run", "--json").json["levels"] == taken["levels"]
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("is there already, and is not overwritten")


def test_everything_is_reached_by_keyboard(page: Page) -> None:
    """From the top of the page by Tab alone: every slider, field, point and button, in the order of the page."""
    page.locator("#grid-k").fill("2")
    page.locator("#grid-methods").fill("greedy")
    page.locator("#grid-methods").press("Enter")
    expect(page.locator("#progress")).to_contain_text("choices compared")
    expect(page.locator(".front a").first).to_be_visible()
    wanted = page.evaluate(
        """() => [...document.querySelectorAll("input, select, button, summary, .front a")]
            .filter((e) => e.checkVisibility() && !e.disabled).length"""
    )
    page.reload()
    expect(page.locator(".front a").first).to_be_visible()
    reached = []
    for _ in range(wanted + 20):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                """() => { const e = document.activeElement;
                    return [e.id || e.getAttribute("href") || e.textContent.slice(0, 40), e.tagName,
                            getComputedStyle(e).outlineStyle]; }"""
            )
        )
        if reached[-1][0] == "name":
            break
    used = [part for part in reached if part[1].upper() in ("INPUT", "SELECT", "BUTTON", "SUMMARY", "A")]
    assert [part[0] for part in used[:4]] == ["level-0", "level-1", "level-2", "field-0"]
    assert {"field-1", "field-2", "method", "search", "grid-k", "grid-methods", "#choice-0", "choice-0", "name"} <= {
        part[0] for part in used
    }
    assert all(part[2] != "none" for part in used if part[1] != "a"), "the focus can be seen"
    slider(page, "age").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#words-0")).to_contain_text("level 4 of 4")
    page.get_by_role("link", name=re.compile("^greedy, k 2, ")).first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("k", exact=True).first).to_have_value("2")


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1600, "light")])
def test_nobody_is_kept_from_using_it(page: Page, width: int, scheme: Any) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(".front a").first).to_be_visible()
    assert overflow(page) <= 0
    assert faults(page) == []


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1600, "dark")])
def test_the_report_too(chromium: Browser, report: Path, width: int, scheme: Any) -> None:
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(report.as_uri())
    assert overflow(page) <= 0
    assert faults(page) == []
    page.close()


@pytest.fixture(scope="module")
def report(people_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Folder(tmp_path_factory.mktemp("reported"))
    shutil.copy(people_database, folder.database)
    page = folder.path / "page.html"
    for _ in range(2):
        assert main(["run", str(folder.policy(PEOPLE)), "--report", str(page)]) == 0
    return page


def test_names_and_labels_with_scripts_in_them_are_text(chromium: Browser, tmp_path: Path) -> None:
    folder, odd = Folder(tmp_path), "<img src=x onerror=alert(1)><script>alert(1)</script>"
    folder.sql(f"""CREATE TABLE t AS SELECT '{odd}' || i % 2 AS "{odd}", '{odd}' || i % 3 AS s FROM range(60) r (i)""")
    text = f"""name = "odd"
source = {{ table = "t", database = "warehouse.duckdb" }}
privacy.k = 2
[quasi_identifiers.{json.dumps(odd)}]
[sensitive.s]
l = 2
[sensitive.s.values.{json.dumps(odd + "1")}]
alpha = 0.9
[release]
kind = "table"
to = "o"
"""
    policy = folder.policy(text)
    page = chromium.new_page()
    said: list[str] = []
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("console", lambda message: said.append(message.text))
    with exploring(policy) as exploration, reserved(0) as place:
        guard = guarded_at(exploration, policy, port_of(place))
        with served(guard, place):
            page.goto(guard.address)
            page.get_by_role("button", name="Compare").click()
            expect(page.locator(".front a").first).to_be_visible()
            page.get_by_role("button", name="Search for levels").click()
            expect(page.locator("#found")).to_contain_text("greedy, k 2")
            expect(page.locator("#sample td").first).to_contain_text(odd)
            assert page.locator("img, script:not([src])").count() == 0
            page.close()
    assert said == []
