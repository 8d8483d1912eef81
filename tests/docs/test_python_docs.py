"""docs/python.md: its examples are run, and it has every name, parameter and field that there is."""

from __future__ import annotations

import dataclasses
import inspect
import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import duckanon
from duckanon.cli.demo import demo
from duckanon.result import Result
from tests.support.paths import ROOT

GUIDE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


def rows(head: str) -> list[str]:
    """The first cells of the table with this head."""
    table = re.search(rf"^\| {head} \|.*\n\|[-|]+\n((?:\|.*\n)+)", GUIDE, re.M)
    assert table, head
    return [row.split("`")[1] for row in table[1].splitlines()]


def test_the_examples_print_what_they_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    demo(tmp_path, lambda _: None)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    examples = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", GUIDE, re.S)
    assert len(examples) == GUIDE.count("```python")
    for code, said in examples:
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(code, names)
        assert printed.getvalue() == said


def plain(signature: inspect.Signature) -> str:
    parameters = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)).replace("'", '"')


def test_every_function_and_parameter_is_documented_and_no_other() -> None:
    functions = [name for name in duckanon.__all__ if inspect.isfunction(getattr(duckanon, name))]
    assert len(functions) == 7
    there = [name + plain(inspect.signature(getattr(duckanon, name))) for name in functions]
    assert sorted(rows("function")) == sorted(there)


def test_how_a_policy_is_read() -> None:
    for name in ("load", "parse"):
        assert f"`Policy.{name}{plain(inspect.signature(getattr(duckanon.Policy, name)))}`" in GUIDE


def test_every_field_of_a_result_is_documented_and_no_other() -> None:
    assert sorted(rows("field")) == sorted(field.name for field in dataclasses.fields(Result))


def test_every_error_is_documented_and_no_other() -> None:
    assert sorted(rows("error")) == sorted(name for name in duckanon.__all__ if name.endswith("Error"))
