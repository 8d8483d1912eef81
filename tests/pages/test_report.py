"""The report of a release: its figures are those of the run, and it shows nothing else."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Command
from tests.support.far import PostgresDatabase
from tests.support.folder import Folder
from tests.support.page import Page
from tests.support.people import EXPORT, NAMED, PEOPLE


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the pictures are not the point: drawing them takes ten times as long as the rest."""
    monkeypatch.setattr("duckanon.pages.html._charts", lambda _: {})


def same_figures(page: Page, told: Any) -> None:
    assert [page.only(f"rows.{part}") for part in ("source", "released", "suppressed")] == [
        told["rows"][part] for part in ("source", "released", "suppressed")
    ]
    for name in ("k", "highest_risk", "average_risk"):
        assert page.only(f"privacy.{name}") == pytest.approx(told["privacy"][name], rel=1e-11)
        assert page.only(f"before.{name}") == pytest.approx(told["before"][name], rel=1e-11)
    assert page.figures["threshold"] == [c["threshold"] for c in told["constraints"]]
    assert page.figures["measured"] == [c["measured"] for c in told["constraints"]]
    assert page.only("classes") == told["classes"]
    assert page.only("budget") == told["budget"]
    assert page.only("utility.ncp") == told["utility"]["ncp"]
    for column, lost in told["utility"]["columns"].items():
        assert page.only(f"utility.columns.{column}.ncp") == lost["ncp"]


def harmless(page: Page) -> None:
    tags = {tag for tag, _ in page.tags}
    assert not tags & {
        "script",
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "form",
        "a",
        "use",
        "image",
        "foreignobject",
    }
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on") or name == "style"]
    assert "://" not in page.source
    assert "url(" not in page.source
    (policy,) = [a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert str(policy).startswith("default-src 'none'; style-src 'sha256-")


def test_the_figures_are_those_of_the_run_and_of_the_release_that_stands(people: Folder, duckanon: Command) -> None:
    policy, page, again = people.policy(PEOPLE), people.path / "one.html", people.path / "two.html"
    told = duckanon("run", policy, "--json", "--report", page).json
    same_figures(Page.of(page), told)
    assert duckanon("report", policy, "-o", again).code == 0
    assert again.read_text("utf-8") == page.read_text("utf-8")
    harmless(Page.of(page))
    ((label,),) = people.sql("SELECT age FROM people_anonymous GROUP BY age ORDER BY COUNT(*) DESC, age LIMIT 1")
    assert {label, "age", "disease", "sensitive", "name", "identifier"} <= set(Page.of(page).texts)
    assert "person 1" not in Page.of(page).source


@pytest.mark.usefixtures("undrawn")
def test_a_run_of_long_ago_says_what_the_ledger_knows(people: Folder, duckanon: Command) -> None:
    policy, page = people.policy(PEOPLE), people.path / "page.html"
    assert duckanon("run", policy).code == 0
    (first,) = duckanon("history", policy, "--json").json
    people.sql("DELETE FROM people WHERE age > 50")
    assert duckanon("run", policy, "--k", 4).code == 0
    assert duckanon("report", policy, "--run", first["id"][:8], "-o", page).code == 0
    old = Page.of(page)
    assert old.only("rows.source") == 200
    assert "What is not known" in old.words
    assert "before.k" not in old.figures
    assert duckanon("report", policy, "-o", page).code == 0
    new = Page.of(page)
    assert new.figures["threshold"][0] == 4, "the policy as it was run"
    assert "What changed since the last release" in new.words
    assert "threshold of k" in new.words
    people.sql("INSERT INTO people SELECT 'somebody', 33, '02133', 'F', 'flu'")
    assert duckanon("report", policy, "-o", page).code == 0
    changed = Page.of(page)
    assert "before.k" not in changed.figures
    assert changed.only("privacy.k") == new.only("privacy.k")


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("text", [EXPORT, EXPORT + NAMED, PEOPLE + '[search]\nmethod = "climb"\n'])
def test_with_a_ledger_or_without_and_of_every_method(text: str, people: Folder, duckanon: Command) -> None:
    policy, page = people.policy(text), people.path / "page.html"
    told = duckanon("run", policy, "--json", "--report", page).json
    same_figures(Page.of(page), told)
    assert duckanon("report", policy, "-o", page).code == 0
    same_figures_again = Page.of(page)
    assert same_figures_again.figures["measured"] == [c["measured"] for c in told["constraints"]]
    assert same_figures_again.only("privacy.average_risk") == pytest.approx(told["privacy"]["average_risk"], rel=1e-11)


@pytest.mark.usefixtures("undrawn")
def test_people_are_counted_in_the_report_too(people: Folder, duckanon: Command) -> None:
    people.sql("CREATE TABLE visits AS SELECT people.* FROM people, range(2)")
    text = PEOPLE.replace('table = "people"', 'table = "visits"').replace("k = 3", 'k = 3\nentity = "name"')
    policy, page = people.policy(text), people.path / "page.html"
    told = duckanon("run", policy, "--json", "--report", page).json
    same_figures(Page.of(page), told)
    assert duckanon("report", policy, "-o", page).code == 0
    same_figures(Page.of(page), told)


def test_names_and_labels_are_text(folder: Folder, duckanon: Command) -> None:
    odd = "<script>alert('x')</script> & \"q\" |`*_"
    quoted = odd.replace("'", "''")
    folder.sql(
        f"""CREATE TABLE t AS SELECT CASE WHEN i % 2 = 0 THEN '{quoted}' ELSE 'b' END AS "<b>x" , i % 3 AS y,
            '<i>' || (i % 4) AS "s|t" FROM range(60) AS r (i)"""
    )
    text = 'name = "odd"\n[source]\ntable = "t"\ndatabase = "warehouse.duckdb"\n[privacy]\nk = 2\n'
    text += '[quasi_identifiers."<b>x"]\n[quasi_identifiers.y]\n[sensitive."s|t"]\nl = 2\n'
    text += '[sensitive."s|t".values."<i>1"]\nalpha = 0.9\n[release]\nkind = "table"\nto = "odd_anonymous"\n# ``` -->\n'
    policy, page, plain = folder.policy(text), folder.path / "page.html", folder.path / "page.md"
    assert duckanon("run", policy, "--report", page).code == 0
    harmless(Page.of(page))
    assert not {tag for tag, _ in Page.of(page).tags} & {"b", "i"}
    assert odd in Page.of(page).words
    assert duckanon("report", policy, "-o", plain).code == 0
    rows = [line for line in plain.read_text("utf-8").splitlines() if line.startswith("| ")]
    assert any(r"\<script\>alert('x')\</script\> \& " in row for row in rows)
    assert "<script" not in re.sub(r"\\.", "", plain.read_text("utf-8"))
    assert "\n````toml\n" in plain.read_text("utf-8")


def test_markdown_needs_no_extra_and_says_the_same(
    people: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("altair", "vl_convert", "jinja2"):
        monkeypatch.setitem(sys.modules, module, None)
    policy, page = people.policy(PEOPLE), people.path / "page.md"
    told = duckanon("run", policy, "--json", "--report", page).json
    said = page.read_text("utf-8")
    assert f"| rows released | {told['rows']['released']} of 200 |" in said
    assert "| k | ≥ 3 | " in said
    assert "## What is not protected" in said
    before = people.dump()
    refused = duckanon("run", policy, "--report", people.path / "page.html")
    assert refused.code == 2
    assert "pip install 'duckanon[pages]'" in refused.err
    assert people.dump() == before, "nothing is released"


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("policy.toml", "neither a page nor Markdown"),
        ("mine.html", "is no report of the policy people"),
        ("nowhere/page.html", "there is no folder"),
        ("folder.html", "is no file"),
        ("people.md", "is where the release goes"),
    ],
)
def test_nothing_else_is_ever_replaced(file: str, said: str, people: Folder, duckanon: Command) -> None:
    (people.path / "mine.html").write_text("<p>mine</p>", "utf-8")
    (people.path / "folder.html").mkdir()
    policy = people.policy(EXPORT.replace("people.csv", "people.md") + NAMED)
    before = {path: path.read_bytes() for path in people.path.iterdir() if path.is_file()}
    for command in (("run", policy, "--report"), ("report", policy, "-o")):
        refused = duckanon(*command, people.path / file)
        assert refused.code == 2
        assert said in refused.err
    assert {path: path.read_bytes() for path in people.path.iterdir() if path.is_file()} == before


@pytest.mark.usefixtures("undrawn")
def test_a_report_of_the_same_policy_is_replaced(people: Folder, duckanon: Command) -> None:
    policy, page = people.policy(PEOPLE), people.path / "page.html"
    assert duckanon("run", policy, "--report", page).code == 0
    page.chmod(0o640)
    assert duckanon("report", policy, "-o", page).code == 0
    assert page.stat().st_mode & 0o777 == 0o640
    other = people.policy(
        PEOPLE.replace('name = "people"', 'name = "other"').replace("_anonymous", "_too"), "other.toml"
    )
    assert duckanon("run", other, "--report", page).code == 2
    assert not list(people.path.glob(".*unfinished"))


@pytest.mark.usefixtures("undrawn")
def test_where_there_is_nothing_to_report(people: Folder, duckanon: Command) -> None:
    policy, page = people.policy(PEOPLE), people.path / "page.html"
    told = duckanon("report", policy, "-o", page)
    assert (told.code, page.exists()) == (2, False)
    assert "there is nothing to report" in told.err
    assert duckanon("run", policy, "--dry-run", "--report", page).code == 2
    assert duckanon("run", policy, "--k", 300, "--report", page).code == 1
    assert duckanon("run", policy).code == 0
    for wanted in ("nonsense", ""):
        assert duckanon("report", policy, "--run", wanted, "-o", page).code == 2
    assert not page.exists()


@pytest.mark.usefixtures("undrawn")
def test_a_release_stands_whatever_becomes_of_its_report(
    people: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("duckanon.pages.file.os.replace", full)
    told = duckanon("run", people.policy(PEOPLE), "--json", "--report", people.path / "page.html")
    assert told.code == 0
    assert "the release stands, but its report could not be written" in json.dumps(told.json["warnings"])
    assert not list(people.path.glob("*page*"))


@pytest.mark.usefixtures("undrawn")
def test_of_a_release_on_a_server(postgres_database: PostgresDatabase, tmp_path: Path, duckanon: Command) -> None:
    folder, database = Folder(tmp_path), postgres_database
    database.sql("CREATE TABLE people AS SELECT i AS name, 20 + i % 40 AS age, i % 2 AS sex, i % 5 AS disease "
                 "FROM generate_series(1, 200) AS r (i)")  # fmt: skip
    text = PEOPLE.replace('database = "warehouse.duckdb"\n', "")
    text = re.sub(r"\[quasi_identifiers.zip\]\n.*\n", "", text)
    policy, page = folder.policy(text), tmp_path / "page.html"
    told = duckanon("run", policy, "--db", database.address, "--json", "--report", page).json
    same_figures(Page.of(page), told)
    assert duckanon("report", policy, "--db", database.address, "-o", page).code == 0
    same_figures(Page.of(page), told)
