"""docs/models.md: what it ticks is tested, and every model that a policy can ask for is on it."""

from __future__ import annotations

import re

import pytest

from duckanon.models.registry import column_keys, value_keys
from tests.support.paths import ROOT

pytestmark = pytest.mark.unit

PAGE = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
ROWS = [
    line for line in PAGE.splitlines() if line.startswith("| ") and line.count(" | ") == 5 and "| ARX |" not in line
]
TICK = re.compile(r'\[✓\]\((?P<path>[^)\s]+)(?: "(?P<test>\w+)")?\)')


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split(" | ")[0].removeprefix("| "))
def test_what_is_ticked_is_tested(row: str) -> None:
    ours = row.split(" | ")[1]
    ticks = list(TICK.finditer(ours))
    assert ticks, "every row of ours leads to a test"
    assert TICK.sub("", ours).strip() == ""
    for tick in ticks:
        text = (ROOT / "docs" / tick["path"]).resolve().read_text(encoding="utf-8")
        assert f"def {tick['test'] or 'test_'}" in text
        assert not tick["test"] or f"def {tick['test']}(" in text


def test_every_key_is_on_the_page() -> None:
    written = set(re.findall(r"`(?:values\.\w+\.)?(?:privacy\.)?(\w+) = ", PAGE))
    assert {key.name for _, key in (*column_keys(), *value_keys())} <= written
