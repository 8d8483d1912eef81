"""The documentation leads somewhere: links, anchors, and the paths and names of the code that it speaks of."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.rooms import ROOMS

pytestmark = pytest.mark.unit

PAGES = sorted(
    path
    for folder in (".", "docs", "fixtures", "hierarchies", "integrations/dbt")
    for path in (ROOT / folder).glob("*.md")
)
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def anchors(page: Path) -> set[str]:
    """The anchors of the headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.*)$", prose(page), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def relative_links(page: Path) -> list[str]:
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)) if "://" not in link]


def test_every_page_is_looked_at() -> None:
    names = {str(page.relative_to(ROOT)) for page in PAGES}
    assert {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/policy.md", "docs/cli.md"} <= names
    assert sum(len(relative_links(page)) for page in PAGES) > 50


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in relative_links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_every_page_can_be_found_from_the_readme(page: Path) -> None:
    assert f"docs/{page.name}" in {link.partition("#")[0] for link in relative_links(ROOT / "README.md")}


def test_the_test_for_contributors_is_one_of_ours() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.S)
    assert any(example in path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))


# -- the architecture -----------------------------------------------------------------------------


def test_every_path_of_the_architecture_is_there() -> None:
    named = re.findall(r"`([\w./]*(?:/|\.(?:py|md|sql|json))[\w./]*)`", ARCHITECTURE)
    paths = [name for name in named if name != "__init__.py"]
    assert len(paths) > 80
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_rooms_are_listed_in_their_order() -> None:
    (table,) = re.findall(r"^\| room \|.*\n\|[-|]+\n((?:\|.*\n)+)", ARCHITECTURE, re.M)
    rooms = [Path(row.split("`")[1]).name.removesuffix(".py") for row in table.splitlines()]
    assert rooms == list(ROOMS)


def test_every_word_of_the_glossary_is_where_it_says() -> None:
    words = re.findall(r"^\| ([\w' -]+) \| .* \| `(\w+)` in `([\w./]+)` \|$", ARCHITECTURE, re.M)
    (table,) = re.findall(r"^\| word \|.*\n\|[-|]+\n((?:\|.*\n)+)", ARCHITECTURE, re.M)
    assert len(words) == len(table.splitlines()) > 40
    assert len({word for word, _, _ in words}) == len(words)
    for word, name, path in words:
        text = (ROOT / path).read_text(encoding="utf-8")
        defined = rf"^\s*(?:(?:class|def) {name}\b|{name}(?:: [^=\n]+)?(?: =|$)|{name}: )"
        assert re.search(defined, text, re.M), f"{word}: {name} in {path}"


@pytest.mark.parametrize(
    ("question", "told_by"),
    [
        ("How is t-closeness judged?", "class Closeness(ClassModel)"),
        ("Where is a CSV release renamed?", "os.replace(self.unfinished, self.path)"),
        ("Who decides the next node?", "def choose(node: Node) -> int"),
        ("What does a ledger line hold?", "class Entry"),
    ],
)
def test_the_questions_of_a_newcomer(question: str, told_by: str) -> None:
    (path,) = re.findall(rf"^\| {re.escape(question)} \| `([\w./]+)`", ARCHITECTURE, re.M)
    assert told_by in (ROOT / path).read_text(encoding="utf-8")
