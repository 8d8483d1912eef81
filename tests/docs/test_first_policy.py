"""docs/first-policy.md is walked through as it is written."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import Command, Told
from tests.support.paths import ROOT

GUIDE = (ROOT / "docs" / "first-policy.md").read_text(encoding="utf-8")


def test_the_walk_through_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, duckanon: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"^\$ (.*)\n((?:(?!\$ |```).*\n)*)", GUIDE, re.M)
    assert len(examples) > 8
    last = Told(0, "", "")
    for command, said in examples:
        program, *words = shlex.split(command)
        if program == "cd":
            monkeypatch.chdir(words[0])
        elif program == "echo":
            assert said == f"{last.code}\n"
        elif program == "duckanon":
            last = duckanon(*words)
            pattern = "".join(".*" if part == "…" else re.escape(part) for part in re.split(r"(…)", said))
            assert re.fullmatch(pattern, last.out + last.err, re.S), f"{command}\n{last.out}{last.err}"
        else:
            subprocess.run([sys.executable if program == "python" else program, *words], check=True, timeout=60)
