"""Where DuckDB puts what does not fit into memory: a folder that nobody else can read, and that does not stay."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from duckanon.engine.lock import hold

_PREFIX = f"duckanon-{os.getuid() if sys.platform != 'win32' else os.getlogin()}-spill-"
_NEW = 60  # seconds: a folder younger than this may just not be locked yet


class Spill:
    """A folder in the system's temporary folder, not beside the database: that may be a folder of somebody else's.

    Its owner holds a lock on it, which the kernel lets go of however a process ends; the next run removes what is left.
    """

    def __init__(self) -> None:
        _sweep()
        self.path: Path | None = None
        self._handle: int | None = None
        with suppress(OSError):  # without such a folder nothing can be spilled
            self.path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
            self._handle = hold(self.path)

    def close(self) -> None:
        if self.path is not None:
            shutil.rmtree(self.path, ignore_errors=True)
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _sweep() -> None:
    """Remove what processes have left that are no more."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if left.is_symlink() or time.time() - left.stat().st_mtime < _NEW:
                continue
            handle = hold(left)
            if handle is not None:
                shutil.rmtree(left, ignore_errors=True)
                os.close(handle)
