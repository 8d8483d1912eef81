"""The command line as a user meets it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Told:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Told]


def run_on_a_full_disk(policy: Path, most: int = 100_000) -> subprocess.CompletedProcess[str]:
    """Run a policy in a process of its own, none of whose files may grow beyond so many bytes."""
    script = (
        f"import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most})); "
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        f"from duckanon.cli.words import main; sys.exit(main(['run', {str(policy)!r}]))"
    )
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120)
