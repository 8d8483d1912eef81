"""The files of these tests are small, and are written as large ones are."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def dictionaries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels as dictionaries, however few the rows are; all other tests write few rows without."""
    monkeypatch.setattr("duckanon.release.file._MANY", 0)
