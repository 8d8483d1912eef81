"""The climb: every class it releases holds, by the plain-Python definitions, and it loses little."""

from __future__ import annotations

import random
from dataclasses import replace

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckanon.audit.release import audit_release
from duckanon.audit.shown import count_rows
from duckanon.census.counting import Census
from duckanon.engine import Relation
from duckanon.errors import PolicyError
from duckanon.hierarchy import Hierarchy
from duckanon.local import Placement
from duckanon.policy import Policy
from tests.support import metrics_reference as metrics
from tests.support import reference as ref
from tests.support.adult import adult
from tests.support.case_warehouse import warehouse
from tests.support.cases import Case, cases, sized_cases
from tests.support.climbing import climbed, counted, levels_of, table
from tests.support.examples import MORE, examples
from tests.support.reference import Value
from tests.support.small import MODELS, policy


def codes_of(census: Census, hierarchy: Hierarchy) -> dict[Value, int]:
    found = census.workbench.fetch(f'SELECT value, code_{hierarchy.lowest} FROM "{hierarchy.mapping.name}"')
    return {**dict(found), None: 0}


def released(problem: ref.Problem, census: Census, placement: Placement) -> list[dict[str, Value]]:
    """The rows as they would be released: labels as text, whatever level they come from."""
    placed = levels_of(census, placement)
    codes = {h.column.name: codes_of(census, h) for h in census.hierarchies if h.coded}
    rows = []
    for row in problem.rows:
        levels = placed.get(tuple(code[row[name]] for name, code in codes.items()))
        if levels is not None:
            labels = [hierarchy.label(row[hierarchy.column], level) for hierarchy, level in problem.at(levels)]
            texts = list(map(_text, labels))
            rows.append(dict(zip(problem.qi, texts, strict=True)) | problem.shown(row))
    return rows


def must_hold(problem: ref.Problem, rows: list[dict[str, Value]]) -> None:
    assert rows
    assert len(problem.rows) - len(rows) <= problem.budget
    for members in metrics.classes(rows, problem.qi).values():
        for bound, figure in problem.figures(members).items():
            assert bound.holds(figure), (bound, figure)
    for wanted in problem.policy.sensitive:
        for bound, figure in ref.table_rules(wanted, rows, problem.qi):
            assert bound.holds(figure), (bound, figure)


@examples(4)
@given(cases())
def test_every_class_holds(case: Case) -> None:
    """Every model, alone and together, on small tables; without a release there is none at a single node either."""
    with warehouse(case) as (db, folder):
        wanted = Policy.parse(case.toml(), folder)
        with counted(wanted, db) as census:
            placement = climbed(wanted, census)
            if placement is None:
                assert ref.walk(replace(case.problem, policy=replace(case.policy, method="greedy"))).answer is None
            else:
                must_hold(case.problem, released(case.problem, census, placement))


@examples(3)
@given(sized_cases(), st.sampled_from([2, 4, 8, 15]))
def test_every_label_covers_people_enough(case: Case, k_map: int) -> None:
    """Of the population so many are below a label that nobody who is below another is needed. Without a release there
    are too few in all that have the tuples of the source."""
    case = replace(case, policy=replace(case.policy, sizes=ref.Sizes(k_map=k_map)))
    problem = case.problem
    with warehouse(case) as (db, folder):
        wanted = Policy.parse(case.toml().replace('"greedy"', '"climb"').replace('"datafly"', '"climb"'), folder)
        with counted(wanted, db) as census:
            placement = climbed(wanted, census)
            rows = released(problem, census, placement) if placement else []
    classes = metrics.classes(rows, problem.qi)
    for label in classes:
        assert sum(covers(problem, label, person) for person in problem.population) >= k_map
    tuples = {tuple(h.label(row[h.column], h.lowest) for h in problem.hierarchies) for row in problem.rows}
    alike = [p for p in problem.population if known(problem, p) and finest(problem, p) in tuples]
    assert k_map * len(classes) <= len(alike), "everybody counts for one class"
    if placement:
        must_hold(problem, rows)
    elif not any(s != ref.Sensitive(s.column) for s in case.policy.sensitive) and problem.top == heights(problem):
        assert min(len(alike) - k_map, len(problem.rows) - case.policy.k) < 0


def known(problem: ref.Problem, person: ref.Row) -> bool:
    return all(h.lowest in (0, h.height) or h.knows(person[h.column]) for h in problem.hierarchies)


def finest(problem: ref.Problem, person: ref.Row) -> tuple[Value, ...]:
    return tuple(h.label(person[h.column], h.lowest) for h in problem.hierarchies)


def heights(problem: ref.Problem) -> tuple[int, ...]:
    return tuple(h.height for h in problem.hierarchies)


def _text(label: Value) -> str | None:
    return None if label is None else ref.text(label)


def covers(problem: ref.Problem, label: tuple[Value, ...], person: ref.Row) -> bool:
    """Whether what is shown is what somebody would show at some level."""
    return all(
        any(
            shown == _text(h.label(person[h.column], level))
            for level in range(h.height + 1)
            if level in (0, h.height) or h.knows(person[h.column])
        )
        for h, shown in zip(problem.hierarchies, label, strict=True)
    )


def release(census: Census, placement: Placement) -> Relation:
    """The placed rows with their labels, by a query that knows nothing of the climb."""
    columns = []
    for h in census.hierarchies:
        labels = " ".join(f"WHEN {level} THEN {_label(h, level)}" for level in range(h.height))
        columns.append(f"CASE p.l{h.index} {labels} ELSE '{h.top}' END AS {h.column.name}")
    joins = [
        f'LEFT JOIN "{h.mapping.name}" m{h.index} ON m{h.index}.code_0 = c.{h.code(0)}' for h in census.hierarchies
    ]
    joins.append(f'LEFT JOIN "{census.sensitive[0].table.name}" v ON v.code = c.s0')
    same = " AND ".join(f"p.{key} = c.{key}" for key in placement.keys)
    query = (
        f'SELECT {", ".join(columns)}, v.value AS s FROM "{census.table.name}" c '
        f'JOIN "{placement.table.name}" p ON {same} {" ".join(joins)}, range(c.n)'
    )
    made = census.scratch.adopt("VIEW", "shown")
    census.workbench.fetch(f'CREATE TEMP VIEW "{made.name}" AS {query}')
    return Relation((made.name,), "view")


def _label(hierarchy: Hierarchy, level: int) -> str:
    return f"m{hierarchy.index}.label_{level}" if level else f"CAST(m{hierarchy.index}.value AS VARCHAR)"


@pytest.mark.parametrize("model", MODELS)
def test_every_model_on_a_larger_table(model: str) -> None:
    """The release holds as an audit sees it."""
    with duckdb.connect() as connection:
        table(connection, model)
        wanted = policy(model, 3, "0.1", "ncp")
        with counted(wanted, connection) as census:
            placement = climbed(wanted, census)
            assert placement is not None
            released = release(census, placement)
            audited = audit_release(wanted, count_rows(released, census, census.scratch), census, None)
            assert audited.holds
            assert 90 <= audited.rows <= 100


@pytest.mark.parametrize("model", ["t = 0.4", "alp = 0.6\ndif = 0.3"])
def test_threads_do_not_matter(model: str) -> None:
    placements = []
    for threads in (1, 3):
        with duckdb.connect() as connection:
            connection.execute(f"SET threads = {threads}")
            table(connection, model)
            wanted = policy(model, 3, "0.1", "ncp")
            with counted(wanted, connection) as census:
                placement = climbed(wanted, census)
                assert placement is not None
                placements.append(levels_of(census, placement))
    assert placements[0] == placements[1]


COLLIDING = {
    # A group may bear the name of a value, of its own or of another, and a value the name of the top.
    "a": ("a", "*"), "b": ("a", "*"), "c": ("b", "*"), "d": ("b", "*"), "*": ("c", "*"), "e": ("c", "*"),
}  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
def test_equal_labels_of_different_levels_are_one_class(seed: int) -> None:
    draw = random.Random(seed)
    kind = ref.Listed(COLLIDING)
    secret = ref.Sensitive("s", proximity=(0, 2)) if seed % 2 else ref.Sensitive("s")
    rows = tuple(
        {"q": draw.choice([*COLLIDING, None]), "r": draw.choice(list(COLLIDING)), "s": draw.randrange(5)}
        for _ in range(60)
    )
    qi = (ref.QuasiIdentifier("q", kind), ref.QuasiIdentifier("r", kind))
    problem = ref.Problem(ref.Policy(qi, (secret,), (), 3, 6), rows)
    text = """
    name = "collide"
    source = { table = "t" }
    privacy = { k = 3, suppression = 6 }
    release = { kind = "table", to = "o" }
    [quasi_identifiers]
    q = { hierarchy = { table = "dim", columns = ["l0", "l1", "l2"] } }
    r = { hierarchy = { table = "dim", columns = ["l0", "l1", "l2"] } }
    [sensitive.s]
    """ + ("proximity = { epsilon = 0, m = 2 }" if seed % 2 else "")
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE dim (l0 VARCHAR, l1 VARCHAR, l2 VARCHAR)")
        connection.executemany("INSERT INTO dim VALUES (?, ?, ?)", [(key, *up) for key, up in COLLIDING.items()])
        connection.execute("CREATE TABLE t (q VARCHAR, r VARCHAR, s INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", [tuple(row.values()) for row in rows])
        wanted = Policy.parse(text)
        with counted(wanted, connection) as census:
            placement = climbed(wanted, census)
            assert placement is not None
            must_hold(problem, released(problem, census, placement))


def wide_table(connection: duckdb.DuckDBPyConnection, width: int) -> Policy:
    """So many columns of 5 levels each."""
    names = [f"a{index}" for index in range(width)]
    columns = ", ".join(f"(hash(i, {place}) % {4 + place})::INTEGER AS {name}" for place, name in enumerate(names))
    hierarchies = "\n".join(f"{name} = {{ hierarchy = {{ intervals = [2, 4, 8] }} }}" for name in names)
    text = f"""
    name = "wide"
    source = {{ table = "t" }}
    privacy = {{ k = 3, suppression = 0 }}
    release = {{ kind = "table", to = "o" }}
    [quasi_identifiers]
    {hierarchies}
    """
    connection.execute(f"CREATE TABLE t AS SELECT {columns} FROM range(150) r (i)")
    return Policy.parse(text)


def test_vast_lattice_starts_at_once() -> None:
    """Twenty columns, 5²⁰ nodes: it is never enumerated."""
    with duckdb.connect() as connection:
        wanted = wide_table(connection, 20)
        with counted(wanted, connection) as census:
            placement = climbed(wanted, census)
            assert placement is not None
            placed = levels_of(census, placement)
            assert len(placed) == 150
            assert len(set(placed.values())) > 1


def test_more_levels_than_a_node_can_tell_are_refused() -> None:
    with duckdb.connect() as connection:
        wanted = wide_table(connection, 43)
        with counted(wanted, connection) as census, pytest.raises(PolicyError, match="43 quasi-identifiers"):
            climbed(wanted, census)


@pytest.mark.adult
@pytest.mark.parametrize(("k", "most"), [(10, 0.0467), (2, 0.0128)][:MORE])
def test_adult_loses_little(k: int, most: float) -> None:
    """Less than the lattice walked by rising NCP, and not one row suppressed."""
    with duckdb.connect() as connection:
        wanted = adult(k, "0")
        with counted(wanted, connection) as census:
            placement = climbed(wanted, census)
            assert placement is not None
            table = f'"{placement.table.name}"'
            costs, joins = [], []
            for h in census.hierarchies:
                sizes = " ".join(f"WHEN {at} THEN m{h.index}.size_{at}" for at in range(1, h.height))
                size = f"CASE p.l{h.index} WHEN 0 THEN 1 {sizes} ELSE {h.domain} END"
                costs.append(f"CASE WHEN {size} > 1 THEN {size} / {h.domain} ELSE 0 END")
                joins.append(f'JOIN "{h.mapping.name}" m{h.index} ON m{h.index}.code_0 = p.{h.code(0)}')
            same = " AND ".join(f"p.{key} = c.{key}" for key in placement.keys)
            query = (
                f"SELECT SUM(c.n), SUM(c.n * ({' + '.join(costs)})) / {len(costs)} / SUM(c.n) "
                f'FROM "{census.table.name}" c JOIN {table} p ON {same} {" ".join(joins)}'
            )
            ((rows, ncp),) = census.workbench.fetch(query)
            assert rows == census.rows
            assert ncp <= most
