"""What a model says may be concluded from one class for another is so, on random classes; and what it denies is not."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import duckdb
import pytest
from sqlglot import exp

from duckanon.census.values import describe_values
from duckanon.models import ClassModel
from duckanon.models.classes import judged_classes
from duckanon.models.column_steps import SensitiveRules
from duckanon.models.diversity import Recursive
from duckanon.models.likeness import Delta
from duckanon.models.presence import Bounds
from duckanon.models.proximity import Proximity
from duckanon.models.registry import asked, class_rules, column_models, size_rules
from duckanon.policy import Sensitive, ValueThresholds

PAIRS = 1000
VALUES = 6  # the numbers 1 to 6
LEVELS = {1: ("1", "2"), 2: ("3", "4"), 3: ("5", "6")}
WANTED = {
    "distinct_l": Sensitive("s", {"l": 3}),
    "entropy_l": Sensitive("s", {"entropy_l": 2.2}),
    "recursive": Sensitive("s", {"recursive": Recursive(2.0, 2)}),
    "value_l": Sensitive("s", values={"1": ValueThresholds({"l": 4})}),
    "t": Sensitive("s", {"t": 0.3}),
    "t of a hierarchy": Sensitive("s", {"t": 0.25}, height=3),
    "beta": Sensitive("s", {"beta": 2.0}, values={"1": ValueThresholds({"beta": 5.0})}),
    "enhanced_beta": Sensitive("s", {"enhanced_beta": 1.5}),
    "delta": Sensitive("s", values={value: ValueThresholds({"delta": Delta(1.2)}) for value in "16"}),
    "delta of present values": Sensitive("s", {"delta": Delta(1.2, present_only=True)}),
    "alpha": Sensitive("s", {"alpha": 0.5}, values={"1": ValueThresholds({"alpha": 0.3})}),
    "level_l": Sensitive("s", {"level_l": 2}, levels=LEVELS),
    "level_alpha": Sensitive("s", {"level_alpha": {1: 0.4, 3: 0.6}}, levels=LEVELS),
    "level_weight": Sensitive("s", {"level_weight": 1.5}, levels=LEVELS),
    "proximity": Sensitive("s", {"proximity": Proximity(1, 2)}),
}
# What too few of the random classes hold.
STRICT = {"delta of every value": Sensitive("s", {"delta": Delta(1.2)})}


class Judged(NamedTuple):
    """A class: its rows, whether it fails, and how many rows of it do however it is parted, at the least."""

    rows: int
    failing: bool
    lasting: int


def pairs(wanted: Sensitive, numeric: bool = True) -> list[tuple[Judged, Judged, Judged]]:
    """Random classes, two and two, and the two as one."""
    chance, connection = random.Random(7), duckdb.connect()
    nodes = "(i + 1) // 2 AS up_1, (i + 2) // 4 AS up_2"
    connection.execute(f"CREATE TABLE counts AS SELECT i AS value, i AS rows, {nodes} FROM range(1, 7) r (i)")
    values = describe_values(wanted, exp.select("*").from_("counts"), numeric)
    connection.execute(f"CREATE TABLE described AS {values.sql('duckdb', identify=True)}")
    cells = []
    for pair in range(PAIRS):
        for which in (0, 1):
            for value in chance.sample(range(1, VALUES + 1), chance.randint(1, VALUES)):
                rows = chance.randint(1, 4)
                code = value if chance.random() < 0.95 else None
                cells += [(3 * pair + which, code, rows), (3 * pair + 2, code, rows)]
    columns = [list(column) for column in zip(*cells, strict=True)]
    connection.execute("CREATE TABLE cells AS SELECT UNNEST(?) AS g, UNNEST(?::INT[]) AS s0, UNNEST(?) AS n", columns)
    rules = SensitiveRules(0, exp.to_table("described"), "code", class_rules(wanted, numeric))
    classes = judged_classes(exp.to_table("cells"), ["g"], 1, [rules], nulls=False, lasting=True)
    query = f"SELECT x, failing, lasting FROM ({classes.sql('duckdb', identify=True)}) ORDER BY g"
    found = [Judged(*row) for row in connection.execute(query).fetchall()]
    return list(zip(found[0::3], found[1::3], found[2::3], strict=True))


def test_every_model_of_classes_is_asked() -> None:
    names = dict.fromkeys(model.name for wanted in WANTED.values() for model, _ in asked(wanted))
    assert list(names) == [model.name for model in column_models() if isinstance(model, ClassModel)]


@pytest.mark.parametrize("name", WANTED)
def test_what_is_said_of_merging_is_so(name: str) -> None:
    ((model, _), *_) = asked(WANTED[name])
    assert isinstance(model, ClassModel)
    found = [tuple(not judged.failing for judged in classes) for classes in pairs(WANTED[name])]
    assert 100 < sum(one for one, _, _ in found) < PAIRS - 100, "some hold, some do not"
    kept = all(both for one, other, both in found if one and other)
    kept_by_any = all(both for one, other, both in found if one or other)
    assert (kept, kept_by_any) == (model.holds_merged(WANTED[name]), model.closed_under_growing)


@pytest.mark.parametrize(("name", "numeric"), [*((name, True) for name in WANTED | STRICT), ("t", False)])
def test_what_lasts_fails_in_the_parts(name: str, numeric: bool) -> None:
    """Rows that are said to fail at every finer node do: no two parts of a class have fewer. One fails at the least
    where merging is safe; nobody says it of a class that holds."""
    wanted = (WANTED | STRICT)[name]
    ((model, _), *_) = asked(wanted)
    assert isinstance(model, ClassModel)
    lasting, monotone = [], model.holds_merged(wanted)
    for one, other, both in pairs(wanted, numeric):
        failing = sum(part.rows for part in (one, other) if part.failing)
        assert both.lasting <= failing
        assert (both.lasting > 0) == (both.failing and monotone)
        lasting.append(both.lasting)
    assert (max(lasting) > 1) == monotone, "some say more than that"


def test_thresholds_in_a_table_give_the_same_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of some values, at figures that classes have, beside those of the column."""
    thresholds: list[dict[str, float]] = [{"alpha": 1 / 3}, {"l": 4}, {"alpha": 0.5, "l": 3}, {"alpha": 0.25}]
    own = {str(value): ValueThresholds(of_value) for value, of_value in enumerate(thresholds, start=1)}
    wanted = Sensitive("s", {"alpha": 0.6, "l": 2}, values=own)
    each = [judged for classes in pairs(wanted) for judged in classes]
    monkeypatch.setattr("duckanon.models.registry.MOST_OWN", 0)
    assert sorted(len(rule.own) for rule in class_rules(wanted, True)) == [0, 0, 2, 3]
    together = [judged for classes in pairs(wanted) for judged in classes]
    assert [judged.failing for judged in together] == [judged.failing for judged in each]
    assert 100 < sum(judged.failing for judged in each) < len(each) - 100
    assert all(0 < one.lasting <= other.lasting for one, other in zip(together, each, strict=True) if other.failing)


@pytest.mark.parametrize("threshold", [{"k_map": 20}, {"presence": Bounds(0, 0.4)}])
def test_what_is_said_of_sizes_is_so(threshold: dict[str, Any]) -> None:
    """Of random classes and the population below them, two and two, and the two as one."""
    chance, connection, (rule,) = random.Random(7), duckdb.connect(), size_rules(threshold)
    cells = []
    for part in range(2 * PAIRS):
        for counts in ((chance.randint(1, 9), 0), (0, chance.randint(0, 30))):
            cells += [(part // 2, part % 2, *counts), (part // 2, 2, *counts)]
    columns = [list(column) for column in zip(*cells, strict=True)]
    names = ", ".join(f"UNNEST(?) AS {name}" for name in ("g0", "g1", "n", "m"))
    connection.execute(f"CREATE TABLE cells AS SELECT {names}", columns)
    classes = judged_classes(exp.to_table("cells"), ["g0", "g1"], 1, [], nulls=False, lasting=True, sizes=(rule,))
    query = f"SELECT x, failing, lasting FROM ({classes.sql('duckdb', identify=True)}) ORDER BY g0, g1"
    found = [Judged(*row) for row in connection.execute(query).fetchall()]
    held = []
    for one, other, both in zip(found[0::3], found[1::3], found[2::3], strict=True):
        held.append((not one.failing, not other.failing, not both.failing))
        assert both.lasting <= sum(part.rows for part in (one, other) if part.failing)
        assert (both.lasting > 0) == both.failing
    assert 100 < sum(one for one, _, _ in held) < PAIRS - 100, "some hold, some do not"
    assert all(both for one, other, both in held if one and other)
    assert all(both for one, other, both in held if one or other) == rule.closed_under_growing
