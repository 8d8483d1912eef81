"""docs/cli.md has every command with its options, and no others; its examples are run, and print what it says."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from duckanon.cli.words import parser
from tests.support.command import Command
from tests.support.paths import ROOT

GUIDE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", GUIDE, re.M | re.S))
MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?")


def commands() -> dict[str, argparse.ArgumentParser]:
    (verbs,) = (action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    return dict(verbs.choices)


def spelled(action: argparse.Action) -> str:
    """An option as its help and the documentation write it."""
    if not action.option_strings:
        return {"?": f"[{action.metavar}]", "*": f"[{action.metavar} …]"}.get(str(action.nargs), str(action.metavar))
    name = action.option_strings[-1]
    if action.nargs == 0:
        return name
    return f"{name} {action.metavar or ' | '.join(action.choices or [action.dest.upper()])}"


def documented(section: str) -> list[str]:
    table = re.search(r"^\| option \|.*\n\|[-|]+\n((?:\|.*\n)+)", SECTIONS[section], re.M)
    assert table, section
    return [row.split("`")[1] for row in table[1].splitlines()]


def test_every_command_is_documented_and_no_other() -> None:
    assert sorted(SECTIONS) == sorted(["Every command", *(f"duckanon {name}" for name in commands())])


@pytest.mark.parametrize("name", commands())
def test_every_option_is_documented_and_no_other(name: str) -> None:
    options = [spelled(action) for action in commands()[name]._actions]
    assert sorted([*documented(f"duckanon {name}"), *documented("Every command")]) == sorted(options)


def test_the_options_of_no_command() -> None:
    alone = [spelled(action) for action in parser()._actions if action.option_strings]
    assert alone == ["--help", "--version"]
    assert "`duckanon --version`" in SECTIONS["Every command"]


@pytest.mark.parametrize("name", commands())
def test_every_command_has_an_example(name: str) -> None:
    assert f"\n$ duckanon {name}" in SECTIONS[f"duckanon {name}"]


def expected(said: str) -> str:
    """What an example says, as a pattern: … stands for anything, a moment for any other."""
    moments = MOMENT.sub("MOMENT", said)
    return "".join(".*" if part == "…" else re.escape(part) for part in re.split(r"(…)", moments))


def test_the_examples_print_what_they_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, duckanon: Command) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)  # which would go on until Ctrl-C
    examples = re.findall(r"^\$ (.*)\n((?:(?!\$ |```).*\n)*)", GUIDE, re.M)
    last: Any = None
    ran = set()
    for command, said in examples:
        program, *words = shlex.split(command)
        if program == "cd":
            monkeypatch.chdir(words[0])
            continue
        if program == "echo":
            assert said == f"{last.code}\n", command
            continue
        last = duckanon(*words)
        ran.add(words[0])
        printed = MOMENT.sub("MOMENT", last.out + last.err)
        assert re.fullmatch(expected(said), printed, re.S), f"{command}\n{printed}"
    assert ran == set(commands())
    (document,) = re.findall(r"```json\n(.*?)```", GUIDE, re.S)
    told = duckanon("run", "patients.toml", "--json")
    assert json.loads(document) == like(json.loads(document), told.json)


def test_the_output_in_the_readme_is_the_demos(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, duckanon: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    assert duckanon("demo", "--into", ".").code == 0
    (said,) = re.findall(r"\$ duckanon run patients.toml\n(.*?)```", README, re.S)
    assert re.fullmatch(expected(said), duckanon("run", "patients.toml").out, re.S)


def like(said: Any, found: Any) -> Any:
    """Of what was found as much as is said of it, with as many digits."""
    if isinstance(said, dict):
        return {key: like(inner, found[key]) for key, inner in said.items()}
    if isinstance(said, list):
        return [like(inner, outer) for inner, outer in zip(said, found, strict=False)]
    return round(found, len(str(said).partition(".")[2])) if isinstance(said, float) else found
