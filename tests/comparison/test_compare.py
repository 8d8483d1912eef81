"""`duckanon compare`: the choices side by side, which of them are worth a thought, and how one is taken."""

from __future__ import annotations

import csv
import json
import shlex
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import duckanon as api
from duckanon.comparison import Choice, Comparing, Comparison, Grid
from duckanon.comparison.choices import Wanted
from duckanon.comparison.front import front
from duckanon.comparison.told import as_text
from duckanon.errors import PolicyError
from duckanon.policy import Policy
from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.people import PEOPLE, UNCOMPARED

FIELDS = {"method", "k", "suppression", "status", "levels", "suppressed", "ncp", "utility", "highest_risk", "seconds"}


def choice(k: int, suppressed: int, ncp: float, method: str = "greedy", **known: Any) -> Choice:
    policy = Policy.parse(PEOPLE.replace("k = 3", f"k = {k}") + f'[search]\nmethod = "{method}"\n')
    figures: dict[str, Any] = {"suppressed": suppressed, "highest_risk": 1 / k, "utility": {"ncp": ncp}, **known}
    return Choice(Wanted(policy, {"--k": str(k)}), "holds", 0.1, **figures)


# -- the front ------------------------------------------------------------------------------------


@pytest.mark.unit
def test_a_choice_is_on_the_front_unless_another_is_better() -> None:
    best, worse = choice(5, 10, 0.2), choice(5, 10, 0.3)
    fewer, stricter = choice(5, 9, 0.4), choice(6, 20, 0.5)
    assert front([best, worse, fewer, stricter]) == {best, fewer, stricter}


@pytest.mark.unit
def test_equal_choices_are_on_it_together_and_infeasible_ones_never() -> None:
    one, other = choice(5, 10, 0.1 + 0.2), choice(5, 10, 0.3, "optimal")
    none = Choice(one.wanted, "infeasible", 0.1, reasons=("no",))
    assert front([one, other, none]) == {one, other}


# -- what is tried --------------------------------------------------------------------------------


def tried(grid: Grid, text: str = PEOPLE) -> list[tuple[Any, ...]]:
    wanted, _ = grid.wanted(Policy.parse(text))
    return [(part.policy.search.method, part.policy.k, part.policy.suppression, part.is_own) for part in wanted]


@pytest.mark.unit
def test_the_policy_itself_is_always_among_them() -> None:
    own = ("greedy", 3, Decimal("0.1"), True)
    assert tried(Grid(k=[3], method=["greedy"])) == [own]
    assert tried(Grid(k=[4, 3, 4], method=["greedy"])) == [("greedy", 4, Decimal("0.1"), False), own]
    assert tried(Grid(suppression=[0], method=["optimal"])) == [own, ("optimal", 3, 0, False)]


@pytest.mark.unit
def test_methods_that_the_policy_cannot_use_are_left_out_unless_they_are_named() -> None:
    wanted, skipped = Grid().wanted(Policy.parse(PEOPLE))
    assert len(wanted) == 6
    assert skipped == {"alpha_l_diversification": "needs levels, and nothing asks for them"}
    counted = PEOPLE.replace("k = 3", 'k = 3\nentity = "name"')
    _, skipped = Grid().wanted(Policy.parse(counted))
    assert skipped["climb"] == "privacy.entity: does not go with climb, which counts rows"
    with pytest.raises(PolicyError, match=r"^--method: .*needs levels"):
        Grid(method=["alpha_l_diversification"]).wanted(Policy.parse(PEOPLE))
    with pytest.raises(PolicyError, match=r"^--k: must be a whole number"):
        Grid(k=[3, 0]).wanted(Policy.parse(PEOPLE))


# -- what is told ---------------------------------------------------------------------------------


def test_one_line_each_and_how_to_take_it(people: Folder, duckanon: Command) -> None:
    policy = people.policy(PEOPLE + UNCOMPARED)
    before = people.dump()
    told = duckanon("compare", policy, "--k", "2,300", "--method", "greedy", "--set", "sensitive.disease.l=1", "--json")
    assert (told.code, told.err) == (0, "")
    found = told.json
    assert (found["name"], found["rows"], len(found["choices"])) == ("people", 200, 3)
    own, other, none = found["choices"]
    assert all(part.keys() >= FIELDS | {"front", "policy"} for part in (own, other, none))
    assert [part["policy"] for part in (own, other, none)] == [True, False, False]
    assert (none["status"], none["front"], none["ncp"]) == ("infeasible", False, None)
    assert none["reasons"] == ["privacy.k: 300 is above the 200 rows of the source"]
    words = shlex.split(other["run"])
    assert words == ["duckanon", "run", str(policy), "--set", "sensitive.disease.l=1", "--k", "2"]
    assert people.dump() == before
    taken = duckanon(*words[1:], "--json").json
    assert (taken["levels"], taken["rows"]["suppressed"]) == (other["levels"], other["suppressed"])
    assert other["utility"] == {name: taken["utility"][name] for name in other["utility"]}


def test_as_a_file(people: Folder, duckanon: Command) -> None:
    told = duckanon("compare", people.policy(PEOPLE), "--suppression", "0,0.1", "--method", "greedy,climb", "--csv")
    lines = list(csv.DictReader(told.out.splitlines()))
    assert [(line["method"], line["suppression"], line["policy"]) for line in lines] == [
        ("greedy", "0", "false"),
        ("climb", "0", "false"),
        ("greedy", "0.1", "true"),
        ("climb", "0.1", "false"),
    ]
    assert {line["front"] for line in lines} <= {"true", "false"}


def test_nothing_that_holds(people: Folder, duckanon: Command) -> None:
    told = duckanon("compare", people.policy(PEOPLE), "--set", "privacy.k=300", "--method", "greedy,optimal")
    assert told.code == 1
    assert " > greedy   300     0.1  none: privacy.k: 300 is above the 200 rows of the …" in told.out.splitlines()


def test_a_wide_policy_fits_a_terminal() -> None:
    columns = {f"column {number}": ["gone", "as it is", "ranges of 20", "by year"][number % 4] for number in range(60)}
    good = choice(5, 10, 0.2, columns=columns)
    bad = Choice(good.wanted, "infeasible", 0.1, reasons=("a long story, " * 20,))
    text = as_text(Comparison("wide", 200, (good, bad), {"climb": "why " * 40}), lambda _: "duckanon run wide.toml")
    assert max(map(len, text.splitlines())) < 80
    said = " ".join(text.split())
    assert "gone: column 0, column 4" in said
    assert "column 2 in ranges of 20; column 3 by year" in said


def test_ctrl_c_keeps_what_is_done(people: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    measure = Comparing._choice

    def interrupted(self: Comparing, *arguments: Any) -> Choice:
        if len(self.choices) == 2:
            raise KeyboardInterrupt
        return measure(self, *arguments)

    monkeypatch.setattr(Comparing, "_choice", interrupted)
    told = duckanon("compare", people.policy(PEOPLE), "--k", "2,3,4", "--method", "greedy", "--json")
    assert told.code == 130
    found = json.loads(told.out)
    assert [part["k"] for part in found["choices"]] == [2, 3]
    assert found["missing"] == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--k", "0"), "--k: must be a whole number of at least 1, found 0"),
        (("--k", "3,,5"), "--k: has no value"),
        (("--method", "fast"), "--method: must be one of greedy"),
        (("--method", "all,greedy"), "--method: all goes with no other"),
        (("--suppression", "2.5"), "--suppression: must be a share"),
        (("--json", "--csv"), "not allowed with"),
        (("--set", 'columns.keep=["x"]'), "--set columns.keep: x: there is no such column"),
    ],
)
def test_what_cannot_be_compared(people: Folder, duckanon: Command, words: tuple[str, ...], said: str) -> None:
    told = duckanon("compare", people.policy(PEOPLE), *words)
    assert (told.code, told.out) == (2, "")
    assert said in told.err


def test_a_run_that_loses_much_says_where_to_look(people: Folder, duckanon: Command) -> None:
    policy = people.policy(PEOPLE.replace("k = 3", "k = 40") + UNCOMPARED)
    assert f"  try       `duckanon compare {policy}`: other methods may lose less" in duckanon("run", policy).out
    assert "duckanon compare" not in duckanon("run", policy, "--k", "2").out
    assert "duckanon compare" not in duckanon("run", policy, "--method", "climb").out


def test_in_python(people: Folder) -> None:
    with api.connect(people.database, read_only=True) as db:
        frame = api.compare(people.policy(PEOPLE), db, k=[3], suppression=[0.1, 0.25], method=["greedy"])
    assert list(frame.suppression) == [0.1, 0.25]
    assert list(frame.policy) == [True, False]
    assert frame.status.unique() == ["holds"]


def test_a_file_that_is_not_there(tmp_path: Path, duckanon: Command) -> None:
    assert duckanon("compare", tmp_path / "none.toml").code == 2
