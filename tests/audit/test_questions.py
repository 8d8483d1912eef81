"""What an audit asks of a relation: by rows and by people, against the macros, and in other engines the same."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sqlglot import exp

import duckanon
from duckanon.audit import Audit, AuditedColumn, People, Rows, audit
from duckanon.engine import Engine, Relation, Workbench
from duckanon.engine.scratch import Scratch
from duckanon.engine.types import INTEGER, TEXT
from duckanon.policy import Policy
from duckanon.query.expressions import column, sql, table
from tests.support.far import PostgresDatabase
from tests.support.paths import MACROS

Row = tuple[Any, ...]
Figures = dict[Any, Any]

QI = ["a", "odd name"]
POLICY = """
name = "asked"
[source]
table = "t"
[privacy]
k = 2
[quasi_identifiers.a]
[quasi_identifiers."odd name"]
[sensitive.ill]
l = 2
entropy_l = 1.5
recursive = { c = 2.0, l = 2 }
t = 0.5
alpha = 0.9
alp = 0.9
dif = 0.9
levels = { 1 = ["HIV", ""], 2 = ["flu"], 3 = ["it's"] }
level_l = 2
level_alpha = { 1 = 0.5, 3 = 0.5 }
level_weight = 0.5
beta = 1
delta = 1
[sensitive.ill.values.HIV]
beta = 1
enhanced_beta = 1
delta = { threshold = 1, present_only = true }
l = 2
alpha = 0.5
[sensitive.ill.values.flu]
l = 3
[sensitive.pay]
t = 0.5
beta = 1
enhanced_beta = 1
delta = 1
PROXIMITY
[release]
kind = "table"
to = "r"
"""


def random_rows(seed: int, size: int) -> list[Row]:
    """a, odd name, ill, pay, who: NULL everywhere but in the last."""
    chance = random.Random(seed)
    domains: list[list[Any]] = [[1, 2, None], ["x", "", None], ["HIV", "flu", "", "it's", None], [-5, 0, 10, 11, 900]]
    domains[3].append(None)
    return [(*(chance.choice(domain) for domain in domains), chance.randrange(max(1, size // 2))) for _ in range(size)]


def statements(name: str, rows: Sequence[Row]) -> list[str]:
    create = f'CREATE TEMPORARY TABLE {name} (a INTEGER, "odd name" VARCHAR, ill VARCHAR, pay INTEGER, who INTEGER)'
    values = ", ".join("(" + ", ".join(map(said, row)) + ")" for row in rows)
    return [create, *([f"INSERT INTO {name} VALUES {values}"] if rows else [])]


def said(value: Any) -> str:
    return "NULL" if value is None else repr(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def asked(engine: Engine, people: bool) -> Audit:
    """The audit of the table t; t is measured against the table source."""
    proximity = "" if people else "proximity = { epsilon = 1, m = 3 }"
    policy = Policy.parse(POLICY.replace("PROXIMITY", proximity), Path())
    scratch, relation = Scratch(engine), Relation(("t",), "table")
    number = sql("COUNT(DISTINCT who)" if people else "COUNT(*)")
    parts = [
        AuditedColumn(
            wanted, wanted.column, INTEGER if wanted.column == "pay" else TEXT, reference(wanted.column, number)
        )
        for wanted in policy.sensitive
    ]
    counted = People(relation, QI, scratch, "who") if people else None
    found = audit(2, Rows(relation, QI, scratch), parts, counted)
    scratch.clear()
    return found


def reference(name: str, number: exp.Expr) -> exp.Select:
    value = column(name)
    counts = exp.select(value.as_("v"), number.copy().as_("n")).from_(table("source"))
    return counts.where(sql(":value IS NOT NULL", value=value)).group_by(value.copy())


@pytest.fixture
def duck() -> Iterator[Workbench]:
    with duckdb.connect() as connection:
        connection.execute(MACROS.read_text(encoding="utf-8"))
        yield Workbench(connection)


def filled(engine: Any, seed: int, size: int) -> None:
    """The table and its source, of which it has some rows and one value that the source lacks."""
    rows = random_rows(seed, size)
    for statement in [*statements("t", rows), *statements("source", rows[: size // 2] + random_rows(seed + 99, size))]:
        engine.fetch(statement)


def figures(found: Audit) -> Figures:
    """All that an audit says, flat."""
    told: Figures = {"rows": found.rows, "classes": found.classes, "people": found.people, "sizes": found.sizes}
    told |= {key: figure for key, figure in found.privacy.items() if key != "sensitive"}
    for name, parts in found.privacy["sensitive"].items():
        told |= {(name, key): figure for key, figure in parts.items() if key != "values"}
        told |= {(name, str(v), key): figure for v, leaks in parts["values"].items() for key, figure in leaks.items()}
    named = {(f.constraint.name, f.constraint.column, f.constraint.value): f.measured for f in found.findings}
    return told | named


def alike(found: Figures, expected: Figures) -> None:
    assert set(found) == set(expected)
    for key, figure in expected.items():
        assert found[key] == (pytest.approx(figure, abs=1e-12) if isinstance(figure, float) else figure), key


SIZES = [(0, 0), (1, 1), (2, 9), (3, 40), (4, 300)]


# -- against the macros -------------------------------------------------------------------------------


class Macros:
    """The same figures by the analysts' macros: other words for all of them."""

    def __init__(self, duck: Workbench, people: bool) -> None:
        self.duck, self.entity = duck, ", 'who'" if people else ""
        self.people = people

    def one(self, call: str, figure: str = "*") -> Any:
        found = self.duck.fetch(f"SELECT {figure} FROM duckanon.{call}")
        return found[0][0] if figure != "*" and found else found[0] if found else None

    def about(self, name: str, relation: str = "t") -> str:
        return f"'{relation}', ['a', 'odd name'], '{name}'"

    def diversity(self, name: str, relation: str = "t") -> tuple[Any, ...]:
        if self.people:
            call = f"people_diversity({self.about(name, relation)}{self.entity})"
            return tuple(self.one(call, figure) for figure in ("distinct_l", "entropy_l", "homogeneous_people"))
        shown = self.about(name, relation)
        least = [self.one(f"l_diversity({shown})", figure) for figure in ("distinct_l", "entropy_l")]
        return (*least, self.one(f"homogeneity({shown})", "homogeneous_rows"))

    def leaks(self, name: str, relation: str = "t") -> dict[Any, tuple[Any, ...]]:
        macro, count = ("people_leakage", "people") if self.people else ("leakage", "row_count")
        call = f"duckanon.{macro}({self.about(name, relation)}{self.entity})"
        rows = self.duck.fetch(f"SELECT value, {count}, highest_lp, alp, dif FROM {call}")
        return {value: tuple(figures) for value, *figures in rows}

    def value_l(self, name: str) -> dict[Any, int]:
        macro = "people_value_diversity" if self.people else "value_diversity"
        call = f"duckanon.{macro}({self.about(name)}{self.entity})"
        return dict(self.duck.fetch(f"SELECT value, distinct_l FROM {call}"))

    def once(self, name: str) -> str:
        """The relation in which every row is one that counts for its value."""
        if not self.people:
            return "t"
        self.duck.fetch(f'CREATE OR REPLACE TEMP VIEW once AS SELECT DISTINCT a, "odd name", {name}, who FROM t')
        return "once"

    def source(self, name: str) -> str:
        if not self.people:
            return "source"
        self.duck.fetch(f"CREATE OR REPLACE TEMP VIEW source_once AS SELECT DISTINCT {name}, who FROM source")
        return "source_once"

    def t(self, name: str) -> Any:
        return self.one(f"t_closeness_to({self.about(name, self.once(name))}, '{self.source(name)}')", "t")

    def likeness(self, name: str) -> Figures:
        about = f"{self.about(name, self.once(name))}, reference := '{self.source(name)}'"
        beta, delta = (self.one(f"{macro}({about})") for macro in ("beta_likeness", "delta_disclosure"))
        return dict(zip(("beta", "enhanced_beta", "delta", "present_delta"), (*beta, *delta), strict=True))

    def recursive(self, name: str) -> Any:
        known = self.people and self.diversity(name)[2] > 0
        c = None if known else self.one(f"recursive_diversity({self.about(name, self.once(name))}, l := 2)", "c")
        return float("inf") if c is None else c


@pytest.mark.parametrize(("seed", "size"), SIZES)
@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
def test_the_macros_say_the_same(duck: Workbench, people: bool, seed: int, size: int) -> None:
    filled(duck, seed, size)
    found, macros = figures(asked(duck, people)), Macros(duck, people)
    expected: Figures = {}
    for name in ("ill", "pay"):
        least, spread, homogeneous = macros.diversity(name)
        expected |= {(name, "distinct_l"): least, (name, "entropy_l"): spread, (name, "homogeneous_rows"): homogeneous}
        expected[name, "t"] = macros.t(name)
        likeness = macros.likeness(name)
        expected |= {(name, key): figure for key, figure in likeness.items()}
        for value, leaks in macros.leaks(name).items():
            expected |= {
                (name, str(value), key): f for key, f in zip(("rows", "alpha", "alp", "dif"), leaks, strict=True)
            }
    never = float("inf") if size else 0.0
    expected |= {
        (key, "pay", None): never if likeness[key] is None else likeness[key]
        for key in ("beta", "enhanced_beta", "delta")
    }
    values = macros.value_l("ill")
    expected["recursive", "ill", None] = macros.recursive("ill")
    expected |= {("value_l", "ill", value): values.get(value) for value in ("HIV", "flu")}
    if not people:
        expected["proximity", "pay", None] = macros.one(f"proximity({macros.about('pay')}, 1)", "share")
    duck.fetch(
        "CREATE TEMP VIEW levelled AS SELECT *, "
        "CASE WHEN ill IN ('HIV', '') THEN 1 WHEN ill = 'flu' THEN 2 WHEN ill = 'it''s' THEN 3 END AS level FROM t"
    )
    shares = {level: leaks[1] for level, leaks in macros.leaks("level", "levelled").items()}
    expected["level_l", "ill", None] = macros.diversity("level", "levelled")[0] or 0
    expected |= {("level_alpha", "ill", level): shares.get(int(level), 0.0) for level in ("1", "3")}
    alike({key: found[key] for key in expected}, expected)


def test_a_value_that_is_everybodys_is_the_only_one_that_counts(duck: Workbench) -> None:
    """Both have the flu, one of them HIV beside it: whoever is in the class has the flu, for sure."""
    rows = [(1, "x", "flu", 0, 1), (1, "x", "HIV", 0, 1), (1, "x", "flu", 0, 2)]
    for statement in [*statements("t", rows), *statements("source", rows)]:
        duck.fetch(statement)
    by_rows, by_people = figures(asked(duck, people=False)), figures(asked(duck, people=True))
    keys = [("ill", "distinct_l"), ("ill", "homogeneous_rows"), ("value_l", "ill", "HIV"), ("level_l", "ill", None)]
    assert [by_rows[key] for key in keys] == [2, 0, 2, 2]
    assert [by_people[key] for key in keys] == [1, 2, 1, 1]
    assert (by_rows["recursive", "ill", None], by_people["recursive", "ill", None]) == (2, float("inf"))
    assert by_rows["ill", "entropy_l"] > 1.5
    assert by_people["ill", "entropy_l"] == 1


def test_a_level_that_is_everybodys_is_the_only_one_that_weighs(duck: Workbench) -> None:
    """Of three levels the weights are 0, ½ and 1."""
    rows = [(1, "x", "it's", 0, 1), (1, "x", "flu", 0, 1), (1, "x", "flu", 0, 2)]
    for statement in [*statements("t", rows), *statements("source", rows)]:
        duck.fetch(statement)
    assert figures(asked(duck, people=False))["level_weight", "ill", None] == 1.5
    assert figures(asked(duck, people=True))["level_weight", "ill", None] == 0.5


# -- in other engines ---------------------------------------------------------------------------------


class WithoutTables(Workbench):
    """An engine that can keep no rows, only queries."""

    temporary_tables = False

    def make_temporary(
        self, kind: str, name: exp.Table, query: exp.Query, note: str, bound: Mapping[str, bytes] | None = None
    ) -> None:
        super().make_temporary("VIEW", name, query, note, bound)

    def drop_temporary(self, kind: str, name: exp.Table) -> None:
        super().drop_temporary("VIEW", name)


@pytest.mark.parametrize(("seed", "size"), SIZES)
@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
def test_an_engine_that_keeps_no_rows_says_the_same(duck: Workbench, people: bool, seed: int, size: int) -> None:
    filled(duck, seed, size)
    without = WithoutTables(duck.connection)
    with without.traced() as executed:
        alike(figures(asked(without, people)), figures(asked(duck, people)))
    assert not any(e.statement.kind == "TABLE" for e in executed if isinstance(e.statement, exp.Create))


@pytest.mark.parametrize(("seed", "size"), SIZES)
@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
def test_postgresql_says_the_same(
    postgres_database: PostgresDatabase, duck: Workbench, people: bool, seed: int, size: int
) -> None:
    filled(duck, seed, size)
    with duckanon.connect(postgres_database.address) as warehouse:
        filled(warehouse, seed, size)
        alike(figures(asked(warehouse, people)), figures(asked(duck, people)))
