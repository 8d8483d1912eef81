"""Environments of their own, for what must not lean on ours."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def alone_with(environment: Path) -> Iterator[None]:
    """One test process at a time makes an environment that several ask for."""
    with environment.with_name(f"{environment.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def scripts_of(environment: Path) -> Path:
    return environment / ("Scripts" if os.name == "nt" else "bin")


def make_environment(path: Path) -> None:
    """An empty one. Our pip installs into it: one of its own would take longer than what is installed."""
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(path)], check=True)


def install(environment: Path, *wanted: str) -> subprocess.CompletedProcess[str]:
    """What pip says of it. Modules are compiled when they are imported, which most of them never are."""
    pip = [sys.executable, "-m", "pip", "--python", str(scripts_of(environment) / "python")]
    command = [*pip, "install", "--quiet", "--disable-pip-version-check", "--no-compile", *wanted]
    return subprocess.run(command, capture_output=True, text=True, check=False)
