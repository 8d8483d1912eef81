"""A model is one module: a file in `duckanon.models` is all that it takes for a threshold to be read, searched for,
verified, told and documented."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.support.command import Told
from tests.support.paths import ROOT

TOY = '''
"""Of every class at least such a share has a value at all."""

from sqlglot import exp

from duckanon.models import ClassModel, ClassRule
from duckanon.models.keys import Key
from duckanon.query.expressions import sql
from duckanon.query.metrics import Metric
from duckanon.query.steps import select
from duckanon.toml.checks import share


class Known(ClassModel):
    name, order = "known", 35
    key = Key("known", share, True, "least share of a class that has a value", example=0.5)
    monotone = True

    def rule(self, constraint, wanted, numeric):
        figure = sql("SUM(CASE WHEN value IS NOT NULL THEN y ELSE 0 END) / :size")
        return ClassRule(constraint, figure, describes_values=False)

    def measured(self, constraint, released):
        counts = released.counts
        known = select(known=f"CAST(SUM(CASE WHEN v IS NOT NULL THEN y ELSE 0 END) AS DOUBLE) / {counts.size}")
        known = known.from_(exp.to_table("counts")).group_by(*counts.groups)
        least = counts.asked(exp.select("MIN(known)").from_(exp.to_table("classes")), classes=known)
        ((figure,),) = released.rows.ask(least, "verify: known")
        return figure

    def out_of_reach(self, counted):
        query = exp.select("SUM(rows)").from_(counted.table)
        most = counted.fetch(query)[0][0] / (counted.rows - counted.budget)
        if most < counted.wanted.thresholds["known"]:
            yield f"sensitive.{counted.wanted.column}.known: not so many have a value"

    def metrics(self, request, sensitive, ordered):
        query = request.counts(sensitive).asked(select(known="COUNT(v)").from_(exp.to_table("counts")))
        yield Metric("known", sensitive, "how many have a value?", query)


MODEL = Known()
'''

# A column beside the code's own: here the package finds the toy, as it would find a file among the others.
FOUND = """
import sys
import duckanon.models
duckanon.models.__path__.append(sys.argv[1])
from duckanon.cli.words import main
"""
RUN = FOUND + "sys.exit(main(sys.argv[2:]))"
RUN_EACH = FOUND + "for policy in sys.argv[2:]:\n    main(['run', policy, '--json'])\n    print('\\f')"

POLICY = """
name = "toy"
[source]
table = "people"
database = "warehouse.duckdb"
[privacy]
k = 2
[quasi_identifiers.age]
hierarchy = {{ intervals = [10, 20, 40] }}
[sensitive.disease]
{thresholds}
[search]
method = "{method}"
[release]
kind = "table"
to = "released"
"""


class Toy:
    def __init__(self, folder: Path) -> None:
        self.folder, self.models = folder, folder / "more_models"
        self.models.mkdir()
        self.module = self.models / "known.py"
        self.module.write_text(TOY, encoding="utf-8")
        with duckdb.connect(str(folder / "warehouse.duckdb")) as connection:
            # Below 30 every second disease is known, from there on all are.
            connection.execute(
                "CREATE TABLE people AS SELECT 20 + i % 40 AS age, "
                "CASE WHEN i % 40 >= 10 OR (i // 40) % 2 = 0 THEN ['flu', 'cough', 'HIV'][1 + i % 3] END AS disease "
                "FROM range(160) r (i)"
            )

    def duckanon(self, *arguments: str) -> Told:
        return self.python(RUN, *arguments)

    def run(self, thresholds: str) -> Told:
        return self.duckanon("run", self.policy(thresholds), "--json")

    def policy(self, thresholds: str, method: str = "greedy", file: str = "policy.toml") -> str:
        (self.folder / file).write_text(POLICY.format(thresholds=thresholds, method=method), encoding="utf-8")
        return file

    def released(self, *asked: tuple[str, str]) -> list[dict[str, Any]]:
        """Thresholds and method of several policies, which one process runs: what it told of each."""
        files = [self.policy(*wanted, f"{number}.toml") for number, wanted in enumerate(asked)]
        *results, _ = self.python(RUN_EACH, *files).out.split("\f")
        return [json.loads(result) for result in results]

    def python(self, code: str, *arguments: str) -> Told:
        ended = subprocess.run(
            [sys.executable, "-c", code, str(self.models), *arguments],
            cwd=self.folder,
            env={"PYTHONPATH": str(ROOT), "PATH": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        return Told(ended.returncode, ended.stdout, ended.stderr)


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    return Toy(tmp_path)


def of(result: Any, name: str) -> dict[str, Any]:
    (found,) = [constraint for constraint in result["constraints"] if constraint["name"] == name]
    return dict(found)


def test_its_key_is_checked(toy: Toy) -> None:
    told = toy.run("known = 1.5")
    assert told.code == 2
    assert "sensitive.disease.known: must be a number above 0 and at most 1, found 1.5" in told.err
    told = toy.run("knwon = 0.5")
    assert told.code == 2
    assert "sensitive.disease.knwon: unknown key — did you mean 'known'?" in told.err


def test_it_steers_the_search_and_is_verified(toy: Toy) -> None:
    methods = ("greedy", "optimal", "climb")
    results = toy.released(*((known, method) for method in methods for known in ("known = 0.5", "known = 0.7")))
    assert len(results) == 2 * len(methods)
    for finer, coarser in zip(results[::2], results[1::2], strict=True):
        must_be_steered(finer, coarser)


def must_be_steered(finer: dict[str, Any], coarser: dict[str, Any]) -> None:
    assert finer["status"] == coarser["status"] == "released"
    assert of(coarser, "known") == {
        "name": "known",
        "column": "disease",
        "value": None,
        "threshold": 0.7,
        "measured": of(coarser, "known")["measured"],
        "holds": True,
    }
    assert of(finer, "known")["measured"] == 0.5
    assert of(coarser, "known")["measured"] >= 0.7
    assert finer["utility"]["ncp"] < coarser["utility"]["ncp"]


def test_it_comes_in_its_order(toy: Toy) -> None:
    result = toy.run("dif = 0.9\nknown = 0.5\nlevels = { 1 = ['flu'], 2 = ['cough', 'HIV'] }\nlevel_l = 1\nalpha = 0.9")
    names = [constraint["name"] for constraint in result.json["constraints"]]
    assert names == ["k", "alpha", "known", "level_l", "dif"]


def test_what_it_calls_impossible_is_said(toy: Toy) -> None:
    told = toy.run("known = 1")
    assert told.code == 1
    assert "sensitive.disease.known: not so many have a value" in told.out + told.err


def test_a_rule_that_lets_all_pass_is_found_by_the_question(toy: Toy) -> None:
    """What the search and the audit know of a model is written twice: a mistake in one is no release."""
    toy.module.write_text(TOY.replace("SUM(CASE WHEN value IS NOT NULL THEN y ELSE 0 END) / :size", "1"))
    told = toy.run("known = 0.7")
    assert told.code != 0
    assert "known" in told.out + told.err
    with duckdb.connect(str(toy.folder / "warehouse.duckdb")) as connection:
        assert connection.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'").fetchall() == [
            ("people",)
        ]


def test_asking_for_less_of_it_is_said(toy: Toy) -> None:
    _, less = toy.released(("known = 0.7", "greedy"), ("known = 0.5", "greedy"))
    warnings = less["warnings"]
    assert any("sensitive.disease.known was 0.7, is 0.5" in warning for warning in warnings), warnings


def test_it_is_printed_for_analysts(toy: Toy) -> None:
    told = toy.duckanon("sql", "--metrics", "people", "--qi", "age", "--sensitive", "disease")
    assert '-- known of "disease": how many have a value?' in told.out


def test_it_is_documented(toy: Toy) -> None:
    told = toy.python(
        "import sys, json, duckanon.models\nduckanon.models.__path__.append(sys.argv[1])\n"
        "from duckanon.policy.documentation import guide_with_thresholds, schema_with_thresholds\n"
        "guide, schema = open(sys.argv[2]).read(), json.load(open(sys.argv[3]))\n"
        "print(json.dumps([guide_with_thresholds(guide), schema_with_thresholds(schema)]))",
        str(ROOT / "docs" / "policy.md"),
        str(ROOT / "docs" / "policy.schema.json"),
    )
    guide, schema = json.loads(told.out)
    assert "| `sensitive.COLUMN.known` | least share of a class that has a value | *none* |\n" in guide
    assert schema["properties"]["sensitive"]["additionalProperties"]["properties"]["known"] == {
        "description": "Least share of a class that has a value.",
        "type": "number",
        "exclusiveMinimum": 0,
        "maximum": 1,
        "examples": [0.5],
    }
