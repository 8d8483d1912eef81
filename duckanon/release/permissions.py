"""Who may read a release: whoever may read what it replaces, or else whom the umask lets."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def pass_on(old: Path, new: Path, usual: int) -> None:
    """Give the new release the mode and, where possible, the owner and group of what stands; where nothing does, the
    `usual` mode. What is new inside a folder is open to nobody to whom the folder is not."""
    stands = _status(old)
    most = usual if stands is None else usual & stands.st_mode
    for inner in new.rglob("*") if new.is_dir() else ():
        before = _status(old / inner.relative_to(new))
        if before is not None and stat.S_IFMT(before.st_mode) == stat.S_IFMT(inner.lstat().st_mode):
            _give(inner, before, before.st_mode)
        else:
            _give(inner, stands, most if inner.is_dir() else most & 0o666)
    _give(new, stands, usual if stands is None else stands.st_mode)


def _give(path: Path, owner: os.stat_result | None, mode: int) -> None:
    """Where the group cannot be the owner's, what that might is not for ours."""
    if owner is not None:
        if not _owned(path, -1, owner.st_gid):
            mode = mode & ~0o070 | (mode & 0o007) << 3
        _owned(path, owner.st_uid, -1)
    path.chmod(stat.S_IMODE(mode))


def _owned(path: Path, user: int, group: int) -> bool:
    """Whether the path belongs to that user or group now; -1: to whomever."""
    found = path.stat()
    if user in (-1, found.st_uid) and group in (-1, found.st_gid):
        return True
    try:
        os.chown(path, user, group)
    except (OSError, AttributeError):
        return False
    return True


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:
        return None
