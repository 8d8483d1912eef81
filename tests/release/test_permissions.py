"""Who may read what is new: whoever may read what it replaces."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from duckanon.release import permissions
from duckanon.release.permissions import pass_on

pytestmark = pytest.mark.unit


def file(path: Path, mode: int) -> Path:
    path.write_text("x")
    path.chmod(mode)
    return path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_where_nothing_stands_the_usual_mode_is_given(tmp_path: Path) -> None:
    new = file(tmp_path / "new", 0o600)
    pass_on(tmp_path / "old", new, 0o644)
    assert mode(new) == 0o644


@pytest.mark.parametrize("stands", [0o600, 0o640, 0o666, 0o604])
def test_what_stands_passes_its_mode_on(tmp_path: Path, stands: int) -> None:
    new = file(tmp_path / "new", 0o600)
    pass_on(file(tmp_path / "old", stands), new, 0o644)
    assert mode(new) == stands


@pytest.mark.parametrize(("stands", "left"), [(0o640, 0o600), (0o664, 0o644), (0o604, 0o644)])
def test_where_the_group_cannot_stay_its_rights_do_not_go_to_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stands: int, left: int
) -> None:
    monkeypatch.setattr(permissions, "_owned", lambda path, user, group: False)
    new = file(tmp_path / "new", 0o600)
    pass_on(file(tmp_path / "old", stands), new, 0o644)
    assert mode(new) == left


def test_inside_a_folder_each_file_has_the_mode_of_its_namesake_and_what_is_new_is_no_more_open(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        folder.mkdir()
        file(folder / "known", 0o604 if folder == old else 0o600)
    file(new / "unknown", 0o600)
    (new / "inner").mkdir(0o700)
    old.chmod(0o750)
    pass_on(old, new, 0o755)
    assert mode(new) == 0o750
    assert mode(new / "known") == 0o604
    assert mode(new / "unknown") == 0o640
    assert mode(new / "inner") == 0o750


def test_a_folder_in_the_place_of_a_file_is_not_its_namesake(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir(0o755)
    new.mkdir(0o700)
    file(old / "part", 0o666)
    (new / "part").mkdir(0o700)
    pass_on(old, new, 0o755)
    assert mode(new / "part") == 0o755
