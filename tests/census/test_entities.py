"""People behind rows: with an entity, k and its kin count people. Every figure is compared with plain Python."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest

import duckanon
from duckanon import Policy
from duckanon.errors import PolicyError, ReleaseError
from tests.support.examples import MORE
from tests.support.paths import MACROS

POLICY = """
name = "visits"
[source]
table = "visits"
[privacy]
k = {k}
suppression = {suppression}
entity = "patient"
[quasi_identifiers.age]
hierarchy = {{ intervals = [5, 10, 20] }}
[quasi_identifiers.zip]
hierarchy = {{ mask = [2, 1, 0] }}
[sensitive.disease]
{sensitive}
[columns]
{columns}
[search]
method = "{method}"
[release]
kind = "{kind}"
to = "{to}"
"""

Visit = tuple[str, int, str, str | None]  # patient, age, zip, disease
Class = list[tuple[str, str | None]]  # patient, disease


def policy(folder: Path = Path("."), **changed: Any) -> Policy:
    usual = {
        "k": 3,
        "suppression": 0.1,
        "sensitive": "l = 2",
        "columns": 'identifiers = ["patient"]',
        "method": "greedy",
        "kind": "table",
        "to": "anonymous",
    }
    return Policy.parse(POLICY.format(**usual | changed), folder)


def visits(seed: int, people: int = 60) -> list[Visit]:
    """Some come once and some often; a few move house between two visits, so their rows are in different classes."""
    dice = random.Random(seed)
    found: list[Visit] = []
    for number in range(people):
        age, code = dice.randint(20, 59), dice.choice(["100", "101", "110", "200", "201", "210"])
        for _ in range(dice.choice([1, 1, 1, 2, 3, 6])):
            code = dice.choice(["100", "210"]) if dice.random() < 0.1 else code
            found.append((f"p{number:03}", age, code, dice.choice(["flu", "flu", "cold", "ulcer", "HIV", None])))
    return found


@pytest.fixture
def db() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def load(db: duckdb.DuckDBPyConnection, rows: list[Visit]) -> None:
    db.execute("CREATE OR REPLACE TABLE visits (patient VARCHAR, age INTEGER, zip VARCHAR, disease VARCHAR)")
    columns = [list(values) for values in zip(*rows, strict=True)]
    db.execute("INSERT INTO visits SELECT unnest(?), unnest(?), unnest(?), unnest(?)", columns)


# -- the reference --------------------------------------------------------------------------------


def at_levels(rows: list[Visit], age: int, code: int) -> dict[tuple[Any, Any], Class]:
    """The classes of a node, in plain Python: widths 1, 5, 10, 20, everything; 3, 2, 1, no characters, everything."""
    widths, kept = [1, 5, 10, 20, 10**9], [3, 2, 1, 0, 0]
    found: dict[tuple[Any, Any], Class] = defaultdict(list)
    for patient, years, place, disease in rows:
        found[years // widths[age], place[: kept[code]]].append((patient, disease))
    return dict(found)


class Figures(NamedTuple):
    people: int
    distinct_l: int
    entropy_l: float
    alpha: float


def people_with(rows: Class) -> dict[str, int]:
    """How many people of a class have each value."""
    return {value: len({p for p, d in rows if d == value}) for value in {d for _, d in rows if d is not None}}


def shares(rows: Class) -> dict[str, float]:
    """Of all that people have, how much is each value."""
    having = people_with(rows)
    return {value: y / sum(having.values()) for value, y in having.items()}


def figures(rows: Class) -> Figures:
    people, having = len({p for p, _ in rows}), people_with(rows)
    if not having:
        return Figures(people, 0, 0.0, 0.0)
    total = sum(having.values())
    entropy = math.exp(-sum(y / total * math.log(y / total) for y in having.values()))
    alpha = max(having.values()) / people
    known = alpha == 1  # of everybody
    return Figures(people, 1 if known else len(having), 1.0 if known else entropy, alpha)


def leakage(classes: list[Class]) -> dict[str, tuple[float, float]]:
    """ALP and DIF of each value."""
    shares: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for rows in classes:
        for value, y in people_with(rows).items():
            shares[value].append((y, len({p for p, _ in rows})))
    alp = {value: sum(y * y / x for y, x in found) / sum(y for y, _ in found) for value, found in shares.items()}
    return {value: (alp[value], max(y / x for y, x in found) - alp[value]) for value, found in shares.items()}


# -- releases -------------------------------------------------------------------------------------


def test_five_rows_of_one_person_are_k_1(db: duckdb.DuckDBPyConnection) -> None:
    load(db, [("p1", 30, "100", "flu")] * 5)
    checked = duckanon.check(policy(k=2), db)
    assert checked.status == "violated"
    assert checked.privacy is not None
    assert checked.privacy["k"] == 1
    assert checked.people == {"source": 1, "released": 1}


@pytest.mark.parametrize(("method", "seed"), [("greedy", 0), ("optimal", 1), ("datafly", 2)])
def test_a_release_holds_by_people(db: duckdb.DuckDBPyConnection, seed: int, method: str) -> None:
    rows = visits(seed)
    load(db, rows)
    asked = "l = 2\nentropy_l = 1.5\nalpha = 0.8\nalp = 0.7\ndif = 0.6"
    result = duckanon.run(policy(sensitive=asked, method=method), db)
    assert result.status == "released"
    assert result.levels is not None
    classes = list(at_levels(rows, result.levels["age"], result.levels["zip"]).values())
    good = [c for c in classes if (f := figures(c)).people >= 3 and f.distinct_l >= 2 and f.entropy_l >= 1.5]
    good = [c for c in good if figures(c).alpha <= 0.8]
    assert result.rows["released"] == sum(map(len, good)) == db.sql("SELECT * FROM anonymous").shape[0]
    assert result.classes == len(good)
    assert result.people == {"source": 60, "released": len({p for c in good for p, _ in c})}
    leaks = leakage(good)
    measured = {c.constraint.name: c.measured for c in result.constraints}
    assert measured["k"] == min(figures(c).people for c in good)
    assert measured["distinct_l"] == min(figures(c).distinct_l for c in good)
    assert measured["entropy_l"] == pytest.approx(min(figures(c).entropy_l for c in good))
    assert measured["alpha"] == pytest.approx(max(figures(c).alpha for c in good))
    assert measured["alp"] == pytest.approx(max(alp for alp, _ in leaks.values()))
    assert measured["dif"] == pytest.approx(max(dif for _, dif in leaks.values()))


@pytest.mark.parametrize("seed", range(MORE))
def test_optimal_is_the_best_of_all_nodes(db: duckdb.DuckDBPyConnection, seed: int) -> None:
    """With people in several classes no rule but k is monotone; the search must not prune as if it were."""
    rows = visits(seed + 10, people=40)
    load(db, rows)
    found = duckanon.run(policy(sensitive="alpha = 0.7", method="optimal", suppression=0), db)
    losses, ncps = [], _ncp_of_all_nodes(db, policy(sensitive="alpha = 0.7", suppression=0))
    for age, code in product(range(5), range(4)):
        classes = [figures(c) for c in at_levels(rows, age, code).values()]
        if all(f.people >= 3 and f.alpha <= 0.7 for f in classes):
            losses.append(ncps[age, code])
    if found.status == "infeasible":
        assert losses == []
    else:
        assert found.utility is not None
        assert found.utility["ncp"] == pytest.approx(min(losses))


def _ncp_of_all_nodes(db: duckdb.DuckDBPyConnection, wanted: Policy) -> dict[tuple[int, ...], float]:
    """Their NCP with the failing rows suppressed, each measured alone: what the search prunes is among them."""
    from duckanon.census.counting import take_census
    from duckanon.census.source import bind_source
    from duckanon.engine.duckdb.warehouse import DuckDB
    from duckanon.engine.scratch import Scratch
    from duckanon.recoding.full_domain import FullDomain
    from duckanon.search.measure import Measurer
    from duckanon.search.problem import Problem

    scratch = Scratch(engine := DuckDB.wrap(db))
    try:
        census = take_census(wanted, bind_source(wanted, engine, scratch), scratch)
        measurer = Measurer(Problem.of(wanted, census))
        found: dict[tuple[int, ...], float] = {}
        for node in product(range(5), range(4)):
            recoding = FullDomain(measurer, measurer.measure(node))
            found[node] = recoding.utility()["ncp"]
            scratch.drop(recoding.good)
        return found
    finally:
        scratch.clear()


@pytest.mark.parametrize("kind", ["parquet", "csv", "view"])
def test_every_kind_of_release(tmp_path: Path, kind: str) -> None:
    rows = visits(1)
    with duckdb.connect(str(tmp_path / "w.duckdb")) as db:
        load(db, rows)
        wanted = policy(tmp_path, kind=kind, to="anonymous" if kind == "view" else f"out.{kind}")
        result = duckanon.run(wanted, db)
        assert result.status == "released"
        assert result.levels is not None
        where = "anonymous" if kind == "view" else f"'{tmp_path / f'out.{kind}'}'"
        assert db.sql(f"SELECT * FROM {where}").columns == ["age", "zip", "disease"]
        good = [c for c in at_levels(rows, *result.levels.values()).values() if figures(c).people >= 3]
        good = [c for c in good if figures(c).distinct_l >= 2]
        assert db.sql(f"SELECT * FROM {where}").shape[0] == sum(map(len, good))
        checked = duckanon.check(wanted, db, release=True)
        assert checked.status == "holds"
        assert checked.people == result.people


def test_a_view_goes_on_counting_people(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "w.duckdb")) as db:
        load(db, [(f"p{i}", 30, "100", ["flu", "cold"][i % 2]) for i in range(4)])
        assert duckanon.run(policy(kind="view"), db).status == "released"
        db.execute("INSERT INTO visits SELECT 'new', 50, '200', d FROM unnest(['flu', 'cold', 'flu']) AS u (d)")
        assert db.execute("SELECT count(*) FROM anonymous").fetchone() == (4,)
        db.execute("INSERT INTO visits VALUES ('new2', 50, '200', 'flu'), ('new3', 50, '200', 'cold')")
        assert db.execute("SELECT count(*) FROM anonymous").fetchone() == (9,)


LEVELS = 'levels = { 1 = ["HIV"], 2 = ["flu"] }'


@pytest.mark.parametrize(
    "asked",
    [
        "l = 2",
        "entropy_l = 1.2",
        "recursive = { c = 100.0, l = 2 }",
        "values.HIV = { l = 2 }",
        f"{LEVELS}\nlevel_l = 2",
        f"{LEVELS}\nlevel_weight = 1.0",
        f'{LEVELS}\nlevel_l = 2\npublish = "level"',
    ],
)
def test_what_everybody_has_is_known(db: duckdb.DuckDBPyConnection, asked: str) -> None:
    """Two values in a class, one of them everybody's: that is no diversity."""
    load(db, [(p, 30, "100", d) for p in ("a", "b", "c") for d in ("HIV", "flu" if p == "a" else "HIV")])
    assert duckanon.check(policy(sensitive=asked), db).status == "violated"
    assert duckanon.run(policy(sensitive=asked), db, dry_run=True).status == "infeasible"
    db.execute("UPDATE visits SET disease = 'flu' WHERE patient = 'c'")
    assert duckanon.run(policy(sensitive=asked), db, dry_run=True).status == "holds"  # as the audit sees it, too


def test_a_level_that_everybody_has_by_different_values(db: duckdb.DuckDBPyConnection) -> None:
    levels = 'levels = { 1 = ["HIV", "ulcer"], 2 = ["flu"] }\nlevel_l = 2'
    load(db, [("a", 30, "100", "HIV"), ("b", 30, "100", "ulcer"), ("c", 30, "100", "HIV"), ("a", 30, "100", "flu")])
    assert duckanon.check(policy(sensitive=levels), db).status == "violated"
    assert duckanon.run(policy(sensitive=levels), db, dry_run=True).status == "infeasible"


def test_who_has_two_values_of_a_level_counts_once(db: duckdb.DuckDBPyConnection) -> None:
    levels = 'levels = { 1 = ["HIV", "ulcer"], 2 = ["flu"] }\nlevel_alpha = { 1 = 0.3 }'
    rows = [("a", "HIV"), ("a", "ulcer"), ("b", "flu"), ("c", "flu"), ("d", "flu")]
    load(db, [(patient, 30, "100", disease) for patient, disease in rows])
    result = duckanon.run(policy(sensitive=levels), db)
    assert result.status == "released"
    assert [c.measured for c in result.constraints if c.constraint.name == "level_alpha"] == [0.25]


def test_a_view_does_not_show_rows_of_nobody(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "w.duckdb")) as db:
        load(db, [(f"p{i}", 30, "100", ["flu", "cold", "ulcer"][i % 3]) for i in range(9)])
        assert duckanon.run(policy(kind="view", sensitive="alpha = 0.4"), db).status == "released"
        db.execute("INSERT INTO visits SELECT NULL, 30, '100', 'HIV' FROM range(50)")
        assert db.execute("SELECT disease, count(*) FROM anonymous GROUP BY ALL ORDER BY ALL").fetchall() == [
            ("cold", 3), ("flu", 3), ("ulcer", 3)
        ]  # fmt: skip


def test_a_label_that_is_a_value_of_its_group(tmp_path: Path) -> None:
    """The release says at which levels it is; its labels alone would be of several."""
    (tmp_path / "zip.csv").write_text("100,100,*\n101,100,*\n200,200,*\n201,200,*\n", encoding="utf-8")
    text = POLICY.replace("{{ mask = [2, 1, 0] }}", '"zip.csv"')
    usual = {"k": 3, "suppression": 0, "sensitive": "", "columns": "", "method": "greedy"}
    for kind in ("csv", "parquet", "table"):
        wanted = Policy.parse(text.format(**usual, kind=kind, to=f"anonymous_{kind}"), tmp_path)
        with duckdb.connect() as db:
            load(db, [(f"p{i}", 30, str(100 + i % 2 + 100 * (i // 4)), "flu") for i in range(8)])
            result = duckanon.run(wanted, db)
            assert result.levels is not None
            assert result.levels["zip"] == 1
            checked = duckanon.check(wanted, db, release=True)
            assert (checked.status, checked.levels) == ("holds", result.levels)


@pytest.mark.parametrize(
    ("seed", "method", "asked"),
    [
        (0, "greedy", "t = 0.4"),
        (1, "optimal", "recursive = { c = 4.0, l = 2 }"),
        (0, "greedy", "values.HIV = { l = 2, alpha = 0.5 }"),
    ],
)
def test_search_and_verification_agree(db: duckdb.DuckDBPyConnection, seed: int, method: str, asked: str) -> None:
    load(db, visits(seed + 20))
    assert duckanon.run(policy(sensitive=asked, method=method), db).status == "released"


@pytest.mark.parametrize("unmapped", ["suppress", "top"])
def test_values_that_a_hierarchy_does_not_know(tmp_path: Path, unmapped: str) -> None:
    (tmp_path / "zip.csv").write_text("100,1,*\n101,1,*\n110,1,*\n200,2,*\n201,2,*\n", encoding="utf-8")
    text = POLICY.replace("{{ mask = [2, 1, 0] }}", '"zip.csv"').replace(
        "entity =", f'unmapped = "{unmapped}"\nentity ='
    )
    usual = {"k": 3, "suppression": 0.6, "sensitive": "l = 2", "columns": "", "method": "optimal"}
    wanted = Policy.parse(text.format(**usual, kind="parquet", to="out.parquet"), tmp_path)
    with duckdb.connect() as db:
        load(db, visits(2))
        assert duckanon.check(wanted, db).status == "violated"
        result = duckanon.run(wanted, db)
        assert result.status == "released"
        assert duckanon.check(wanted, db, release=True).people == result.people


def test_levels_of_values(db: duckdb.DuckDBPyConnection) -> None:
    levels = 'levels = { 1 = ["HIV", "ulcer"], 2 = ["flu", "cold"] }\nlevel_l = 2\nlevel_alpha = { 1 = 0.9 }'
    load(db, [row for row in visits(3) if row[3] is not None])
    for publish in ("value", "level"):
        result = duckanon.run(policy(sensitive=f'{levels}\npublish = "{publish}"'), db)
        assert result.status == "released"
        measured = {c.constraint.name: c.measured for c in result.constraints}
        assert measured["level_l"] == 2
        assert 0 < (measured["level_alpha"] or 0) <= 0.9


def test_one_row_each_is_as_without(db: duckdb.DuckDBPyConnection) -> None:
    """Where nobody has two rows, people are rows."""
    rows = [(f"p{i}", *row[1:]) for i, row in enumerate(visits(5))]
    load(db, rows)
    asked = "l = 2\nentropy_l = 1.2\nalpha = 0.9\nalp = 0.9\nt = 0.6\nrecursive = { c = 9.0, l = 2 }"
    found = []
    for entity in ('entity = "patient"', ""):
        text = POLICY.replace('entity = "patient"', entity)
        usual = {"k": 3, "suppression": 0.1, "sensitive": asked, "columns": 'identifiers = ["patient"]'}
        wanted = Policy.parse(text.format(**usual, method="optimal", kind="table", to="anonymous"))
        found.append(duckanon.run(wanted, db).as_json())
    assert all(found[0][key] == found[1][key] for key in ("levels", "rows", "constraints", "privacy", "utility"))


def test_a_changed_source_cannot_say_who_is_released(db: duckdb.DuckDBPyConnection) -> None:
    load(db, visits(1))
    duckanon.run(policy(), db)
    db.execute("DELETE FROM visits WHERE disease = 'flu'")
    with pytest.raises(ReleaseError, match="nobody can tell"):
        duckanon.check(policy(), db, release=True)


def test_a_release_that_was_tampered_with(db: duckdb.DuckDBPyConnection) -> None:
    """A class of which one row was taken away is not whole, however many people its source rows are of."""
    load(db, visits(1))
    duckanon.run(policy(), db)
    db.execute("DELETE FROM anonymous WHERE rowid = 0")
    with pytest.raises(ReleaseError):
        duckanon.check(policy(), db, release=True)


# -- the policy -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"columns": 'keep = ["patient"]'}, "'patient' is also under columns.keep"),
        ({"method": "climb"}, "does not go with climb"),
        ({"method": "alpha_k_clustering"}, "does not go with alpha_k_clustering"),
        ({"sensitive": "proximity = { epsilon = 1, m = 2 }"}, "proximity"),
    ],
)
def test_what_an_entity_does_not_go_with(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        policy(**changed)


def test_an_entity_that_is_not_there(db: duckdb.DuckDBPyConnection) -> None:
    db.execute("CREATE TABLE visits AS SELECT 30 AS age, '100' AS zip, 'flu' AS disease FROM range(9)")
    with pytest.raises(PolicyError, match=r"privacy\.entity: patient: there is no such column"):
        duckanon.run(policy(columns=""), db)


def test_the_entity_needs_no_other_role(db: duckdb.DuckDBPyConnection) -> None:
    load(db, visits(1))
    assert duckanon.run(policy(columns=""), db).status == "released"
    assert "patient" not in db.sql("SELECT * FROM anonymous").columns


def test_rows_of_nobody_are_refused(db: duckdb.DuckDBPyConnection) -> None:
    load(db, visits(1))
    db.execute("UPDATE visits SET patient = NULL WHERE age < 25")
    with pytest.raises(PolicyError, match=r"'patient' is NULL in .* rows") as error:
        duckanon.run(policy(), db)
    assert "p00" not in str(error.value)


def test_more_than_there_are_people(db: duckdb.DuckDBPyConnection) -> None:
    load(db, [("a", 30, "100", "flu"), ("b", 30, "100", "cold")] * 5)
    result = duckanon.run(policy(k=3), db)
    assert result.status == "infeasible"
    assert "the 2 people of the source" in result.reasons[0]


def test_a_csv_source_keeps_the_zeros_of_an_entity(tmp_path: Path) -> None:
    """007 and 7 are two people."""
    lines = [f"{number},30,100,{disease}" for number in ("007", "7", "07") for disease in ("flu", "cold")]
    (tmp_path / "visits.csv").write_text("patient,age,zip,disease\n" + "\n".join(lines) + "\n")
    text = POLICY.replace('table = "visits"', 'file = "visits.csv"')
    usual = {"k": 3, "suppression": 0, "sensitive": "", "columns": "", "method": "greedy", "kind": "csv", "to": "o.csv"}
    with duckdb.connect() as db:
        result = duckanon.run(Policy.parse(text.format(**usual), tmp_path), db)
        assert result.people == {"source": 3, "released": 3}


def test_pseudonyms_of_the_entity_link_rows(db: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUCKANON_KEY", "0123456789abcdef0123456789abcdef")
    load(db, visits(1))
    columns = 'pseudonyms = ["patient"]\n[pseudonyms]\nkey_env = "DUCKANON_KEY"'
    result = duckanon.run(policy(columns=columns), db)
    assert result.status == "released"
    assert any("their pseudonym links these rows" in warning for warning in result.warnings)
    assert db.sql("SELECT * FROM anonymous").columns == ["patient", "age", "zip", "disease"]


def test_identifiers_that_repeat_get_a_word(db: duckdb.DuckDBPyConnection) -> None:
    load(db, visits(1))
    text = POLICY.replace('entity = "patient"', "")
    usual = {"k": 2, "suppression": 0.1, "sensitive": "", "columns": 'identifiers = ["patient"]'}
    wanted = Policy.parse(text.format(**usual, method="greedy", kind="table", to="anonymous"))
    warned = [warning for warning in duckanon.run(wanted, db).warnings if "repeats" in warning]
    assert len(warned) == 1
    assert 'privacy.entity = "patient"' in warned[0]
    db.execute("UPDATE visits SET patient = rowid")
    assert not any("repeats" in warning for warning in duckanon.run(wanted, db).warnings)
    db.execute("UPDATE visits SET patient = NULL")
    assert not any("repeats" in warning for warning in duckanon.run(wanted, db).warnings)


# -- metrics without a policy ---------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(MORE))
def test_metrics_by_people(db: duckdb.DuckDBPyConnection, seed: int) -> None:
    rows = visits(seed + 40)
    load(db, rows)
    db.execute("CREATE VIEW shown AS SELECT patient, age // 10 AS decade, zip[1:1] AS area, disease FROM visits")
    frame = duckanon.metrics(db, "shown", qi=["decade", "area"], sensitive="disease", entity="Patient")
    of_table = frame[frame.value.isna()].fillna({"column": ""})
    found = {(row.metric, row.column): row.measured for row in of_table.itertuples()}
    classes = list(at_levels(rows, 2, 2).values())
    assert found["people", ""] == 60
    assert found["rows", ""] == len(rows)
    assert found["k", ""] == min(figures(c).people for c in classes)
    assert found["distinct_l", "disease"] == min(figures(c).distinct_l for c in classes)
    everybody = shares([(p, d) for p, _, _, d in rows])
    far = [sum(abs(shares(c).get(v, 0) - share) for v, share in everybody.items()) / 2 for c in classes if shares(c)]
    assert found["t", "disease"] == pytest.approx(max(far))


def test_metrics_of_nobody(db: duckdb.DuckDBPyConnection) -> None:
    load(db, visits(1))
    for entity, message in {"zip": "quasi-identifier too", "who": "there is no column 'who'"}.items():
        with pytest.raises(PolicyError, match=message):
            duckanon.metrics(db, "visits", qi="zip", entity=entity)
    db.execute("UPDATE visits SET patient = NULL WHERE age < 25")
    with pytest.raises(PolicyError, match="nobody knows whose they are"):
        duckanon.metrics(db, "visits", qi="zip", entity="patient")


# -- the macros -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(MORE))
def test_macros_against_plain_python(db: duckdb.DuckDBPyConnection, seed: int) -> None:
    rows = visits(seed + 30)
    load(db, rows)
    db.execute(MACROS.read_text(encoding="utf-8"))
    db.execute("CREATE VIEW shown AS SELECT patient, age // 10 AS decade, zip[1:1] AS area, disease FROM visits")
    classes = list(at_levels(rows, 2, 2).values())
    found = [figures(c) for c in classes]
    k, count, people, n, unique, average = db.execute(
        "FROM duckanon.people('shown', ['decade', 'area'], 'patient')"
    ).fetchall()[0]
    assert (k, count, people, n) == (min(f.people for f in found), len(classes), 60, len(rows))
    assert unique == len({c[0][0] for c in classes if figures(c).people == 1})
    assert average == pytest.approx(sum(f.people for f in found) / len(found))
    distinct_l, entropy_l, count, known, known_people = db.execute(
        "FROM duckanon.people_diversity('shown', ['decade', 'area'], 'disease', 'patient')"
    ).fetchall()[0]
    assert (distinct_l, count) == (min(f.distinct_l for f in found), len(classes))
    assert entropy_l == pytest.approx(min(f.entropy_l for f in found))
    assert known == sum(f.alpha == 1 for f in found)
    assert known_people == sum(f.people for f in found if f.alpha == 1)
    leaks = leakage(classes)
    answer = db.execute("FROM duckanon.people_leakage('shown', ['decade', 'area'], 'disease', 'patient')").fetchall()
    assert [row[0] for row in answer] == sorted(leaks)
    for value, having, alp, highest, dif in answer:
        assert having == len({p for p, *_, d in rows if d == value})
        assert (alp, dif) == (pytest.approx(leaks[value][0]), pytest.approx(leaks[value][1], abs=1e-9))
        assert highest == pytest.approx(max(people_with(c).get(value, 0) / figures(c).people for c in classes))


def test_macros_of_nobody(db: duckdb.DuckDBPyConnection) -> None:
    db.execute(MACROS.read_text(encoding="utf-8"))
    db.execute("CREATE TABLE t AS SELECT 1 AS a, 'x' AS s, NULL::VARCHAR AS e FROM range(3)")
    assert db.execute("FROM duckanon.people('t', ['a'], 'e')").fetchall()[0][:4] == (0, 1, 0, 3)
    assert db.execute("FROM duckanon.people_leakage('t', ['a'], 's', 'e')").fetchall() == []
    assert db.execute("SELECT distinct_l FROM duckanon.people_diversity('t', ['a'], 's', 'e')").fetchall() == [(0,)]
    db.execute("DELETE FROM t")
    assert db.execute("FROM duckanon.people('t', ['a'], 'e')").fetchall()[0][:4] == (None, 0, 0, 0)
