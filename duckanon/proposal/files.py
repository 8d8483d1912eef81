"""A policy and its hierarchies on disk: all of them or none, and never over a file that is there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from duckanon.errors import Fault, UsageError


def write_new(texts: Mapping[Path, str], mode: int | None = None) -> None:
    """Write new files, each whole when it gets its name. An error takes back what was written. `mode`: who may do what
    with them; None: as the umask says."""
    must_be_new(texts)
    unfinished = {path: path.with_name(f".{path.name}.{secrets.token_hex(6)}.unfinished") for path in texts}
    made: list[Path] = []
    try:
        for path, text in texts.items():
            with unfinished[path].open("x", encoding="utf-8", newline="\n") as file:
                if mode is not None:
                    os.fchmod(file.fileno(), mode)
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        for path in texts:
            _take_place(unfinished[path], path)
            made.append(path)
    except BaseException:
        for path in made:
            with suppress(OSError):
                path.unlink()
        raise
    finally:
        for path in unfinished.values():
            with suppress(OSError):
                path.unlink(missing_ok=True)


def must_be_new(texts: Mapping[Path, str]) -> None:
    there = [path for path in texts if os.path.lexists(path)]
    if there:
        remedy = "move it, or choose another name with --to"
        raise UsageError([Fault(str(path), "is there already, and is not overwritten", remedy) for path in there])
    for folder in {path.parent for path in texts}:
        if not folder.is_dir():
            raise UsageError([Fault("--to", f"there is no folder {folder}", "make it first")])


def _take_place(unfinished: Path, path: Path) -> None:
    """A link fails where somebody else has been faster; where a file system has none, look before."""
    try:
        os.link(unfinished, path)
    except FileExistsError:
        must_be_new({path: ""})
        raise
    except OSError:
        must_be_new({path: ""})
        os.rename(unfinished, path)
