"""Random tables under random policies: the whole run against the plain-Python definitions of tests/reference.py."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import duckanon
from duckanon.result import Result
from tests import metrics_reference as metrics
from tests import reference as ref
from tests.reference import Value

RELEASE = "people_anonymous"

# The suite tries the same examples every time; PROPERTY_EXAMPLES=20 tries twenty times as many, and new ones.
MORE = int(os.environ.get("PROPERTY_EXAMPLES", "1"))


def examples(count: int) -> settings:
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(max_examples=count * MORE, deadline=None, derandomize=MORE == 1, suppress_health_check=slow)


# -- a random table and policy ------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """A column of the source: its SQL type, the values it draws from, and others that may come later."""

    type: str
    values: tuple[Value, ...]
    later: tuple[Value, ...] = ()


@dataclass(frozen=True)
class Generalized:
    """A quasi-identifier's column and hierarchy, with the policy's spelling of it and what that refers to."""

    column: Column
    kind: ref.Kind
    hierarchy: Any = None  # of the policy
    file: tuple[str, str] | None = None  # name, content
    table: tuple[str, list[tuple[str, ...]]] | None = None  # name, rows


@dataclass(frozen=True)
class Case:
    """A source table and a policy over it."""

    columns: dict[str, Column]
    generalized: tuple[Generalized, ...]
    policy: ref.Policy
    rows: tuple[dict[str, Value], ...]
    by_query: bool

    @property
    def problem(self) -> ref.Problem:
        return ref.Problem(self.policy, self.rows)

    @property
    def released(self) -> list[str]:
        """Every column of the source but the identifier."""
        return [name for name in self.columns if name != "name"]

    def toml(self, kind: str = "table") -> str:
        policy = self.policy
        document = {
            "name": "people",
            "source": {"query": "SELECT * FROM people"} if self.by_query else {"table": "people"},
            "privacy": {"k": policy.k, "suppression": policy.suppression},
            "quasi_identifiers": {
                q.column: {"hierarchy": g.hierarchy, "importance": q.importance}
                for q, g in zip(policy.quasi_identifiers, self.generalized, strict=True)
            },
            "sensitive": {s.column: thresholds(s) for s in policy.sensitive},
            "columns": {"identifiers": ["name"], "keep": list(policy.keep)},
            "search": {"method": policy.method, "weighting": policy.weighting},
            "release": {"kind": kind, "to": RELEASE},
        }
        return "".join(f"{key} = {toml(value)}\n" for key, value in document.items())


def thresholds(wanted: ref.Sensitive) -> dict[str, Any]:
    found = {key: value for key, value in asdict(wanted).items() if key != "column"}
    if wanted.recursive:
        found["recursive"] = dict(zip(("c", "l"), wanted.recursive, strict=True))
    if wanted.proximity:
        found["proximity"] = dict(zip(("epsilon", "m"), wanted.proximity, strict=True))
    return found


def toml(value: Any) -> str:
    """A value as TOML; what is None is left out."""
    if isinstance(value, dict):
        pairs = (f"{toml(str(key))} = {toml(inner)}" for key, inner in value.items() if inner is not None)
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)


TEXTS = st.text(alphabet="ab1é*' \",\\", max_size=4)
LABELS = st.sampled_from(["a", "b", 'é, "', ""])
WIDTHS = st.lists(st.integers(2, 4), min_size=0, max_size=2)
NESTED_UNITS = ("day", "month", "quarter", "year", "decade", "century")


def chance(draw: st.DrawFn, one_in: int) -> bool:
    return draw(st.sampled_from(range(one_in))) == one_in - 1


def domain(values: st.SearchStrategy[Any], least: int = 1) -> st.SearchStrategy[tuple[Value, ...]]:
    sizes = st.sampled_from([size for size in (3, 4, 2, 5, 6, 1) if size >= least])
    return sizes.flatmap(lambda size: st.lists(values, min_size=size, max_size=size, unique=True)).map(tuple)


def numbers(kind: str) -> tuple[str, st.SearchStrategy[Any]]:
    """A numeric type and its values."""
    if kind == "INTEGER":
        return kind, st.integers(-12, 40)
    hundredths = st.integers(-1200, 4000).map(lambda n: Decimal(n).scaleb(-2))
    if kind == "DOUBLE":
        return kind, hundredths.map(float).filter(bool)
    return "DECIMAL(8, 2)", hundredths


DATES = st.dates(date(1895, 1, 1), date(2032, 12, 31))
MOMENTS = st.datetimes(datetime(1895, 1, 1), datetime(2032, 12, 31))
CALENDAR_TYPES: list[tuple[str, st.SearchStrategy[Any], tuple[str, ...]]] = [
    ("DATE", DATES, ()),
    ("VARCHAR", DATES.map(str), ("soon",)),
    ("TIMESTAMP", MOMENTS, ()),
]


@st.composite
def intervals(draw: st.DrawFn) -> Generalized:
    of = draw(st.sampled_from(["INTEGER", "INTEGER", "DECIMAL", "DOUBLE", "DATE"]))
    type_, values = ("DATE", DATES) if of == "DATE" else numbers(of)
    unit = Decimal(draw(st.sampled_from(["0.25", "0.5", "2.5", "1"]))) if of in ("DECIMAL", "DOUBLE") else Decimal(1)
    widths = [unit * draw(st.integers(1, 5 if of != "DATE" else 400))]
    for factor in draw(WIDTHS):
        widths.append(widths[-1] * factor)
    origin = unit * draw(st.integers(-3, 3))
    kind = ref.Intervals(tuple(widths), origin)
    never = (math.inf, -math.inf) if of == "DOUBLE" else ()
    column = Column(type_, draw(domain(values)), draw(domain(values)) + never)
    return Generalized(column, kind, {"intervals": widths, "origin": origin})


@st.composite
def masks(draw: st.DrawFn) -> Generalized:
    kept = tuple(sorted(draw(st.sets(st.integers(0, 4), min_size=1, max_size=3)), reverse=True))
    type_, values = draw(st.sampled_from([("VARCHAR", TEXTS), ("INTEGER", st.integers(-99, 9999))]))
    column = Column(type_, draw(domain(values)), draw(domain(values)))
    return Generalized(column, ref.Mask(kept), {"mask": kept})


@st.composite
def calendars(draw: st.DrawFn) -> Generalized:
    units = draw(st.lists(st.sampled_from(NESTED_UNITS), min_size=1, max_size=3, unique=True))
    units = sorted(units, key=NESTED_UNITS.index)
    if chance(draw, 6):
        units = ["week"]
    type_, values, never = draw(st.sampled_from(CALENDAR_TYPES))
    column = Column(type_, draw(domain(values)), draw(domain(values)) + never)
    return Generalized(column, ref.Dates(tuple(units)), {"dates": units})


@st.composite
def listed(draw: st.DrawFn, place: int) -> Generalized:
    """A random tree, as a table of the warehouse or as a file, that may list more than the source has."""
    type_, values = draw(st.sampled_from([("VARCHAR", TEXTS), ("INTEGER", st.integers(-99, 99))]))
    column = Column(type_, draw(domain(values)), draw(domain(values)))
    texts = {ref.text(value) for value in column.values + draw(domain(values))}
    tree: dict[str, tuple[str, ...]] = {text: (text,) for text in sorted(texts)}
    for level in range(1, draw(st.integers(0, 2)) + 1):
        parents: dict[str, str] = {}
        for text, path in tree.items():
            if path[-1] not in parents:
                parents[path[-1]] = draw(LABELS) + str(level)
            tree[text] = (*path, parents[path[-1]])
    if draw(st.booleans()):
        return in_table(draw, place, column, list(tree.values()))
    return in_file(draw, place, column, list(tree.values()))


def in_table(draw: st.DrawFn, place: int, column: Column, lines: list[tuple[str, ...]]) -> Generalized:
    """A dimension table; whether it has the top itself or not, the hierarchy is the same."""
    kind = ref.Listed({line[0]: (*line[1:], "*") for line in lines})
    if len(lines[0]) > 1 and draw(st.booleans()):
        lines = [(*line, "*") for line in lines]
    columns = [f"c{level}" for level in range(len(lines[0]))]
    return Generalized(column, kind, {"table": f"dim_{place}", "columns": columns}, table=(f"dim_{place}", lines))


def in_file(draw: st.DrawFn, place: int, column: Column, lines: list[tuple[str, ...]]) -> Generalized:
    """A CSV file; its top may have any name."""
    top = draw(st.sampled_from(["*", "anyone"]))
    lines = [(*line, top) for line in lines]
    out = io.StringIO()
    writer = csv.writer(
        out, delimiter=draw(st.sampled_from(";,")), lineterminator=draw(st.sampled_from(["\n", "\r\n"]))
    )
    if draw(st.booleans()):
        writer.writerow(f"level_{level}" for level in range(len(lines[0])))
    writer.writerows(lines)
    kind = ref.Listed({line[0]: line[1:] for line in lines})
    return Generalized(column, kind, f"tree_{place}.csv", file=(f"tree_{place}.csv", out.getvalue()))


@st.composite
def flats(draw: st.DrawFn) -> Generalized:
    choices = [("VARCHAR", TEXTS), ("DATE", DATES), ("INTEGER", st.integers(-9, 9)), numbers("DOUBLE")]
    type_, values = draw(st.sampled_from(choices))
    return Generalized(Column(type_, draw(domain(values)), draw(domain(values))), ref.Flat())


def generalized(place: int) -> st.SearchStrategy[Generalized]:
    return st.one_of(intervals(), listed(place), masks(), calendars(), flats())


FRACTIONS = st.tuples(st.integers(1, 12), st.integers(1, 12)).filter(lambda f: f[0] <= f[1])
SHARES = st.one_of(FRACTIONS.map(lambda f: round(f[0] / f[1], 12)), st.integers(1, 100).map(lambda n: n / 100))
LOOSE = st.sampled_from(["loose", "loose", "any"]).flatmap(
    lambda which: SHARES if which == "any" else SHARES.filter(lambda share: share >= 0.45)
)
LEAST = st.sampled_from([1.0, 1.2, 1.5, 1.9, 2.0, 2.5])


def maybe(draw: st.DrawFn, values: st.SearchStrategy[Any], one_in: int = 4) -> Any:
    return draw(values) if chance(draw, one_in) else None


@st.composite
def sensitives(draw: st.DrawFn, name: str) -> tuple[Column, ref.Sensitive]:
    choices = [("VARCHAR", TEXTS), ("INTEGER", st.integers(-3, 9)), numbers("DECIMAL")]
    type_, values = draw(st.sampled_from(choices))
    column = Column(type_, draw(domain(values, least=2)), draw(domain(values)))
    wanted = ref.Sensitive(
        column=name,
        l=maybe(draw, st.sampled_from([1, 2, 2, 3])),
        entropy_l=maybe(draw, LEAST),
        recursive=maybe(draw, st.tuples(st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0]), st.integers(2, 3))),
        t=maybe(draw, LOOSE),
        alpha=maybe(draw, LOOSE),
        alp=maybe(draw, LOOSE),
        dif=maybe(draw, st.one_of(st.just(0), SHARES)),
    )
    if type_ != "VARCHAR":
        epsilons = st.sampled_from([0, 1, 2, 0.5])
        wanted = replace(wanted, proximity=maybe(draw, st.tuples(epsilons, st.sampled_from([1, 1, 2, 3]))))
    if chance(draw, 3):
        wanted = levelled(draw, wanted, column)
    return column, wanted if wanted.publish == "level" else named(draw, wanted, column)


def levelled(draw: st.DrawFn, wanted: ref.Sensitive, column: Column) -> ref.Sensitive:
    """With sensitivity levels; every value of the source has one."""
    names = draw(st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True))
    levels: dict[int, list[str]] = defaultdict(list)
    for value in column.values:
        levels[draw(st.sampled_from(names))].append(ref.text(value))
    bounds = {level: bound for level in levels if (bound := maybe(draw, LOOSE, 3)) is not None}
    publish = draw(st.sampled_from(["value", "value", "level"]))
    return replace(
        wanted,
        proximity=wanted.proximity if publish == "value" else None,
        publish=publish,
        levels={level: tuple(texts) for level, texts in levels.items()},
        level_alpha=bounds,
        level_l=maybe(draw, st.sampled_from([1, 2, 2, 3]), 3),
        level_weight=maybe(draw, st.sampled_from([0, 0.5, 1, 1.5]), 3),
    )


def named(draw: st.DrawFn, wanted: ref.Sensitive, column: Column) -> ref.Sensitive:
    """With thresholds of single values, one of which the data may not have."""
    names = draw(st.lists(st.sampled_from([*map(ref.text, column.values), "absent"]), max_size=2, unique=True))
    values = {
        name: ref.OfValue(
            alpha=maybe(draw, LOOSE, 3),
            alp=maybe(draw, LOOSE, 3),
            dif=maybe(draw, st.one_of(st.just(0), SHARES), 3),
            l=maybe(draw, st.sampled_from([1, 2, 2, 3]), 3),
        )
        for name in names
    }
    return replace(wanted, values=values)


BUDGETS = st.one_of(
    st.sampled_from(["0.0", "0.05", "0.1", "0.29", "0.5", "0.99"]).map(Decimal), st.integers(0, 6), st.integers(0, 40)
)
SIZES, SEEDS = st.sampled_from(range(2, 31)), st.integers(0, 2**32)
IMPORTANCES = st.sampled_from([1.0, 1.0, 0.5, 0.25, 0.8])
ODD = ("age", "the zip", "Größe")


@st.composite
def cases(draw: st.DrawFn) -> Case:
    size, seed = draw(SIZES), draw(SEEDS)
    parts = [draw(generalized(place)) for place in range(draw(st.sampled_from([2, 1, 2, 3])))]
    quasi = [ref.QuasiIdentifier(name, part.kind, draw(IMPORTANCES)) for name, part in zip(ODD, parts, strict=False)]
    secret = [draw(sensitives(f"secret {place}")) for place in range(draw(st.sampled_from([1, 1, 2, 0])))]
    columns = {q.column: part.column for q, part in zip(quasi, parts, strict=True)}
    columns |= {wanted.column: column for column, wanted in secret}
    keep = ("ward",) if draw(st.booleans()) else ()
    columns |= {name: Column("VARCHAR", draw(domain(TEXTS))) for name in keep}
    columns["name"] = Column("VARCHAR", ("Ann", "Bob"))
    columns = dict(draw(st.permutations(list(columns.items()))))
    policy = ref.Policy(
        quasi_identifiers=tuple(quasi),
        sensitive=tuple(wanted for _, wanted in secret),
        keep=keep,
        k=draw(st.sampled_from([2, 3, 2, 3, 4, 5, 1])),
        suppression=draw(BUDGETS),
        method=draw(st.sampled_from(["greedy", "greedy", "datafly"])),
        weighting=draw(st.sampled_from(["importance", "importance", "printed"])),
    )
    return Case(columns, tuple(parts), policy, table(columns, size, seed), chance(draw, 5))


def table(columns: Mapping[str, Column], size: int, seed: int) -> tuple[dict[str, Value], ...]:
    """Random rows; some columns have NULLs, none has nothing else. Fewer rows of a seed are the first of more."""
    random = Random(seed)
    options = {
        name: [*column.values, *([None] if name != "name" and random.random() < 0.3 else [])]
        for name, column in columns.items()
    }
    rows: list[dict[str, Value]] = [
        {name: random.choice(cells) for name, cells in options.items()} for _ in range(size)
    ]
    for name, column in columns.items():
        if all(row[name] is None for row in rows):
            rows[0][name] = column.values[0]
    return tuple(rows)


# -- the run ------------------------------------------------------------------------------------------


@contextmanager
def warehouse(case: Case) -> Iterator[tuple[duckdb.DuckDBPyConnection, Path]]:
    """A database with the case's tables, and a folder with its files."""
    with tempfile.TemporaryDirectory() as name, duckdb.connect() as db:
        folder = Path(name)
        for part in case.generalized:
            if part.file:
                (folder / part.file[0]).write_text(part.file[1], encoding="utf-8", newline="")
            if part.table:
                table, lines = part.table
                columns = ", ".join(f"c{level} {case_type(part, level)}" for level in range(len(lines[0])))
                db.execute(f"CREATE TABLE {table} ({columns})")
                insert(db, table, lines)
        columns = ", ".join(f"{quoted(name)} {column.type}" for name, column in case.columns.items())
        db.execute(f"CREATE TABLE people ({columns})")
        insert(db, "people", [tuple(row.values()) for row in case.rows])
        yield db, folder


def case_type(part: Generalized, level: int) -> str:
    """A dimension table spells its keys as the source does, its labels as text."""
    return part.column.type if level == 0 else "VARCHAR"


def insert(db: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Sequence[Value]]) -> None:
    if rows:
        marks = ", ".join("?" for _ in rows[0])
        values = ", ".join(f"({marks})" for _ in rows)
        db.execute(f"INSERT INTO {table} VALUES {values}", [cell for row in rows for cell in row])


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def run(case: Case, db: duckdb.DuckDBPyConnection, folder: Path, kind: str = "table") -> Result:
    return duckanon.run(duckanon.Policy.parse(case.toml(kind), folder), db)


def released(case: Case, db: duckdb.DuckDBPyConnection) -> list[dict[str, Value]]:
    """The released rows, in the columns that a release must have."""
    rows = db.execute(f"FROM {RELEASE}")
    assert [column[0] for column in rows.description or ()] == case.released
    return [dict(zip(case.released, row, strict=True)) for row in rows.fetchall()]


def counted(rows: ref.Table) -> Counter[frozenset[tuple[str, Value]]]:
    return Counter(frozenset(row.items()) for row in rows)


def exists(db: duckdb.DuckDBPyConnection) -> bool:
    return bool(db.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = ?", [RELEASE]).fetchall())


def alike(found: Any, expected: Any) -> bool:
    """Equal, figures to within rounding."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(alike(found[key], expected[key]) for key in expected)
    if isinstance(expected, (list, tuple)):
        return len(found) == len(expected) and all(map(alike, found, expected))
    if isinstance(expected, float) and isinstance(found, (int, float)):
        return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)
    return bool(found == expected)


def same(found: Any, expected: Any) -> None:
    assert alike(found, expected), f"found {found}, expected {expected}"


# -- properties ---------------------------------------------------------------------------------------


@examples(30)
@given(cases())
def test_run_is_the_reference(case: Case) -> None:
    compare(case)


def compare(case: Case) -> None:
    """Run a case and compare all that is told and released with the reference."""
    with warehouse(case) as (db, folder):
        result = run(case, db, folder)
        if not result.path:
            never_feasible(case, db, result)
            return
        walk = ref.walk(case.problem)
        same_path(case, result, walk)
        if walk.answer is None and result.levels is not None:
            # Where the top proves nothing the search goes on, off the path: what it finds must hold.
            found = case.problem.judge(tuple(result.levels.values()))
            assert found.holds(case.problem.budget)
            same_release(case, db, found)
        elif walk.answer is None:
            infeasible(case, db, result, walk.path[-1])
        else:
            same_result(case, result, walk.answer)
            same_release(case, db, walk.answer)


def pinned(part: Generalized, ages: Sequence[Value], k: int, secret: ref.Sensitive | None = None) -> Case:
    """A case written by hand: one quasi-identifier, and a secret that numbers its values."""
    columns = {"name": Column("VARCHAR", ("Ann",)), "age": part.column}
    columns |= {secret.column: Column("INTEGER", ())} if secret else {}
    numbers = {age: place for place, age in enumerate(dict.fromkeys(ages), start=1)}
    rows = [dict(zip(columns, ("Ann", age, numbers[age]), strict=False)) for age in ages]
    quasi = (ref.QuasiIdentifier("age", part.kind),)
    policy = ref.Policy(quasi, (secret,) if secret else (), (), k, suppression=0)
    return Case(columns, (part,), policy, tuple(rows), by_query=False)


AGES = Generalized(Column("INTEGER", ()), ref.Flat())
PRICES = Generalized(Column("DECIMAL(8, 2)", ()), ref.Intervals((Decimal(5),)), {"intervals": [5]})
LEVELS = {1: ("1",), 2: ("2",), 3: ("3",)}


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(pinned(AGES, [1, 2, 3], k=3), id="nothing but the top to release"),
        pytest.param(
            pinned(PRICES, [*map(Decimal, ("1.9", "2.1", "9.05", "9.05"))], k=2), id="finer than its intervals"
        ),
        pytest.param(
            pinned(AGES, [1, 1, 2, 3, 3], k=1, secret=ref.Sensitive("secret", t=0.55, publish="level", levels=LEVELS)),
            id="t of published levels",
        ),
    ],
)
def test_pinned_case_is_the_reference(case: Case) -> None:
    compare(case)


def never_feasible(case: Case, db: duckdb.DuckDBPyConnection, result: Result) -> None:
    """Refused before any search: then no node of the whole lattice holds."""
    assert result.status == "infeasible"
    assert result.reasons
    assert not exists(db)
    problem = case.problem
    assert not any(problem.judge(node).holds(problem.budget) for node in ref.lattice(problem))


def same_path(case: Case, result: Result, walk: ref.Walk) -> None:
    budget = case.problem.budget
    expected = [
        {
            "levels": dict(zip(case.problem.qi, judged.node, strict=True)),
            "failing_rows": judged.failing_rows,
            "holds": judged.holds(budget),
        }
        for judged in walk.path
    ]
    found = list(result.path or ())
    same(found[: len(expected)] if walk.answer is None else found, expected)


def infeasible(case: Case, db: duckdb.DuckDBPyConnection, result: Result, top: ref.SensitiveRules) -> None:
    """The top fails: what was measured there is told, and nothing is written."""
    assert result.status == "infeasible"
    assert result.reasons
    assert not exists(db)
    same(result.rows, {"source": len(case.rows), "released": 0, "suppressed": 0})
    expected = dict(top.class_findings)
    if top.good and top.failing_rows <= case.problem.budget:
        expected |= top.table_findings
    same_findings(result, expected)


# A release without any value of the column has no figure for these, and none of its classes is far or near.
NOTHING_IS_ZERO = ("t", "proximity")


def same_findings(result: Result, expected: ref.Findings) -> None:
    found = {(f.constraint.name, f.constraint.column, f.constraint.value): f for f in result.constraints}
    assert len(found) == len(result.constraints)
    assert found.keys() == {bound.key for bound in expected}
    for bound, figure in expected.items():
        finding = found[bound.key]
        assert math.isclose(finding.constraint.threshold, bound.threshold)
        measured = 0.0 if finding.measured is None and bound.name in NOTHING_IS_ZERO else finding.measured
        same((bound.key, measured), (bound.key, figure))
        assert finding.holds == bound.holds(figure)


def same_result(case: Case, result: Result, answer: ref.SensitiveRules) -> None:
    problem, rows = case.problem, len(answer.released)
    assert result.status == "released"
    assert result.levels == dict(zip(problem.qi, answer.node, strict=True))
    assert result.heights == dict(zip(problem.qi, problem.top, strict=True))
    assert result.rows == {"source": len(case.rows), "released": rows, "suppressed": answer.failing_rows}
    assert result.classes == len(answer.good)
    same_findings(result, answer.good_findings | answer.table_findings)
    assert all(finding.holds for finding in result.constraints)
    same_figures(result.utility, ref.utility(problem, answer))
    same_figures(result.privacy, ref.privacy(problem, answer))


def same_figures(found: dict[str, Any] | None, expected: dict[str, Any]) -> None:
    """Every figure that is defined; a run may tell more."""
    assert found is not None
    same({key: found.get(key) for key in expected}, expected)


def same_release(case: Case, db: duckdb.DuckDBPyConnection, answer: ref.SensitiveRules) -> None:
    rows = released(case, db)
    assert counted(rows) == counted(answer.released)
    assert len(rows) + answer.failing_rows == len(case.rows)
    every_class_holds(case.problem, rows)


def every_class_holds(problem: ref.Problem, rows: ref.Table) -> None:
    """What anyone can count in the release itself."""
    for members in metrics.classes(rows, problem.qi).values():
        for bound, figure in problem.figures(members).items():
            assert bound.holds(figure), (bound, figure)


@examples(4)
@given(cases(), st.randoms(use_true_random=False), st.integers(1, 4))
def test_order_and_threads_do_not_matter(case: Case, random: Any, threads: int) -> None:
    shuffled = list(case.rows)
    random.shuffle(shuffled)
    with warehouse(case) as (db, folder), warehouse(replace(case, rows=tuple(shuffled))) as (other, elsewhere):
        first, rows = run(case, db, folder), stored(db)
        other.execute(f"SET threads = {threads}")
        same(told(run(case, other, elsewhere)), told(first))
        assert stored(other) == rows
        same(told(run(case, db, folder)), told(first))
        assert stored(db) == rows


def stored(db: duckdb.DuckDBPyConnection) -> list[tuple[Value, ...]]:
    """The released rows as they lie; none without a release."""
    return db.execute(f"FROM {RELEASE}").fetchall() if exists(db) else []


def told(result: Result) -> dict[str, Any]:
    return {key: value for key, value in result.as_json().items() if key not in ("seconds", "started")}


def test_threads_on_a_large_table() -> None:
    """Enough rows for several threads to work at once."""
    policy = """
    name = "large"
    source = { table = "large" }
    privacy = { k = 20, suppression = 0.01 }
    search = { method = "greedy" }
    release = { kind = "table", to = "people_anonymous" }
    [quasi_identifiers]
    age = { hierarchy = { intervals = [5, 10, 20] } }
    zip = { hierarchy = { mask = [4, 3, 0] } }
    [sensitive.disease]
    l = 2
    t = 0.6
    alp = 0.9
    """
    outcomes = []
    for threads, order in ((1, "i"), (4, "hash(i)")):
        with duckdb.connect() as db:
            db.execute(f"SET threads = {threads}")
            db.execute(
                f"""
                CREATE TABLE large AS
                SELECT hash(i, 1) % 80 AS age, lpad((hash(i, 2) % 3000)::VARCHAR, 5, '0') AS zip,
                    (hash(i, 3) % 5)::INTEGER AS disease
                FROM range(300_000) AS r (i) ORDER BY {order}
                """
            )
            result = duckanon.run(duckanon.Policy.parse(policy), db)
            assert result.good
            outcomes.append((told(result), stored(db)))
    (first, rows), (second, other) = outcomes
    same(second, first)
    assert other == rows


@st.composite
def changed(draw: st.DrawFn, case: Case) -> tuple[dict[str, Value], ...]:
    """The rows of a source some time later: some are gone, some are new, with values never seen before."""
    kept = [row for row in case.rows if not chance(draw, 4)]
    columns = {name: replace(column, values=column.values + column.later) for name, column in case.columns.items()}
    new = () if chance(draw, 2) else table(columns, draw(SIZES), draw(SEEDS))
    return (*kept, *new)


@examples(12)
@given(st.data())
def test_view_shows_only_what_holds(data: st.DataObject) -> None:
    case = data.draw(cases())
    with warehouse(case) as (db, folder):
        result = run(case, db, folder, "view")
        if not result.good:
            return
        answer = ref.walk(case.problem).answer
        assert answer is not None
        assert counted(released(case, db)) == counted(answer.released)
        later = data.draw(changed(case))
        db.execute("DELETE FROM people")
        insert(db, "people", [tuple(row[name] for name in case.columns) for row in later])
        problem = replace(case.problem, current=later)
        shown = released(case, db)
        every_class_holds(problem, shown)
        assert counted(shown) == counted(problem.judge(answer.node).released)


# -- refusals -----------------------------------------------------------------------------------------


@examples(10)
@given(st.data())
def test_nothing_to_release_is_refused(data: st.DataObject) -> None:
    """A column of NULLs, or nobody to hide among."""
    case = data.draw(cases())
    roles = [q.column for q in case.policy.quasi_identifiers] + [s.column for s in case.policy.sensitive]
    empty = data.draw(st.sampled_from([*roles, "rows"]))
    rows = case.rows[:1] if empty == "rows" else tuple({**row, empty: None} for row in case.rows)
    with warehouse(replace(case, rows=rows)) as (db, folder):
        with pytest.raises((duckanon.PolicyError, duckanon.HierarchyError)):
            run(case, db, folder)
        assert not exists(db)
