"""One run to a place at a time: a locked file that the kernel lets go of when its process ends, however it ends."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path

from duckanon.errors import BusyError

_PAUSE = 0.1  # seconds between two tries


def one_at_a_time(address: tuple[str, ...] | None, wait: float) -> AbstractContextManager[None]:
    """No two runs write to the same place at once, whatever their policies; None: nobody else can write there."""
    if address is None:
        return nullcontext()
    what = f"another run that releases to {address[0]} is under way"
    remedy = f"it was waited for {wait:g} seconds" if wait else "wait for it with --wait SECONDS"
    return locked(what, ("run", *address), wait, remedy)


@contextmanager
def locked(what: str, key: tuple[str, ...], wait: float = 0, remedy: str = "try again later") -> Iterator[None]:
    """Hold the lock that `key` names; another holder is waited for, and then an error that says `what`."""
    if sys.platform == "win32":
        yield  # there are no such locks; DuckDB's own still guards the database
        return
    path = lock_path(key)
    handle = _acquire(path, time.monotonic() + wait)
    if handle is None:
        raise BusyError(f"{what}{_holder(path)}; {remedy}")
    try:
        with suppress(OSError):  # only for others to read
            os.write(handle, json.dumps({"process": os.getpid(), "since": f"{datetime.now(UTC):%F %T} UTC"}).encode())
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(handle)


def lock_path(key: tuple[str, ...]) -> Path:
    name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:24]
    return _folder() / f"{name}.lock"


def _folder() -> Path:
    """A folder that nobody else can put anything into, the same for a user's every run: a session at the terminal has
    a folder of its own for such things, a scheduler has none. It serves where the common one is taken by somebody."""
    common = Path(tempfile.gettempdir()) / f"duckanon-{os.getuid() if sys.platform != 'win32' else os.getlogin()}"
    with suppress(OSError):
        common.mkdir(0o700)
    if _is_private(common):
        return common
    session = os.environ.get("XDG_RUNTIME_DIR", "")
    if session and _is_private(Path(session)):
        return Path(session)
    what = "is to hold the locks of runs, and is no folder of yours that only you may enter"
    raise BusyError(f"{common}: {what}; remove it, or name another place in TMPDIR")


def _is_private(folder: Path) -> bool:
    try:
        status = folder.lstat()
    except OSError:
        return False
    ours = sys.platform == "win32" or (status.st_uid == os.getuid() and not status.st_mode & 0o077)
    return stat.S_ISDIR(status.st_mode) and ours


def hold(path: Path) -> int | None:
    """A handle that holds the lock of a file or folder itself until it is closed. None: another process does, the path
    is not there any more, or this system has no such locks."""
    if sys.platform == "win32":
        return None
    import fcntl

    handle = _opened(path)
    if handle is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Whoever held it may have moved it between our opening and locking it.
        if os.path.samestat(os.fstat(handle), os.lstat(path)):
            return handle
    except OSError:
        pass
    os.close(handle)
    return None


def _opened(path: Path) -> int | None:
    for access in (os.O_RDWR, os.O_RDONLY):  # a network file system locks only what may be written; a folder may not
        with suppress(OSError):
            return os.open(path, access | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    return None


def _acquire(path: Path, deadline: float) -> int | None:
    """The handle of the locked file; None: somebody else holds it until the deadline."""
    while (handle := _try(path)) is None and time.monotonic() < deadline:
        time.sleep(_PAUSE)
    return handle


def _try(path: Path) -> int | None:
    import fcntl

    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise BusyError(f"{path}: the lock of this run cannot be opened: {error.strerror}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The last holder may have removed the file between our opening and locking it: then it guards nothing.
        if os.fstat(handle).st_ino == path.stat().st_ino:
            os.ftruncate(handle, 0)
            return handle
    except OSError:
        pass
    os.close(handle)
    return None


def _holder(path: Path) -> str:
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        return f" (process {held['process']}, since {held['since']})"
    except (OSError, ValueError, KeyError):
        return ""
