"""A population beside the source: who is counted there, what is refused, and what a reader is told of the risk."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

import duckanon as api
from duckanon import Policy, PolicyError, SourceError
from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.people import PEOPLE, released_to

EVERYBODY = "CREATE TABLE everybody AS SELECT age + i AS age, zip, sex, name FROM people, range(3) r (i)"
MAPPED = PEOPLE.replace("k = 3", "k_map = 7").replace("[privacy]", '[population]\ntable = "everybody"\n[privacy]')


@pytest.fixture
def town(people: Folder) -> Folder:
    people.sql(EVERYBODY)
    return people


def with_sizes(asked: str, text: str = MAPPED) -> str:
    return text.replace("k_map = 7", asked)


def measured(told: dict[str, Any]) -> dict[str, Any]:
    return {found["name"]: found["measured"] for found in told["constraints"]}


# -- who is counted ---------------------------------------------------------------------------------


def test_the_same_people_from_a_table_a_query_and_files(town: Folder, duckanon: Command) -> None:
    """Of other columns nothing is asked."""
    town.sql(f"COPY everybody TO '{town.path}/all.parquet'", f"COPY everybody TO '{town.path}/all.csv'")
    expected = duckanon("run", town.policy(MAPPED), "--json").json
    assert expected["status"] == "released"
    assert measured(expected)["k_map"] >= 7 > measured(expected)["k"]
    for given in ('query = "SELECT age::BIGINT AS AGE, zip, sex FROM everybody"', 'file = "all.parquet"'):
        told = duckanon("run", town.policy(MAPPED.replace('table = "everybody"', given)), "--json").json
        assert (told["constraints"], told["privacy"]) == (expected["constraints"], expected["privacy"])
    town.sql(f"COPY people TO '{town.path}/people.csv'")
    text = MAPPED.replace('table = "people"\ndatabase = "warehouse.duckdb"', 'file = "people.csv"')
    text = released_to("csv", "out.csv", text.replace('table = "everybody"', 'file = "all.csv"'))
    told = duckanon("run", town.policy(text), "--json").json
    assert (told["constraints"], told["privacy"]) == (expected["constraints"], expected["privacy"])


def test_a_value_that_no_hierarchy_knows_is_below_the_top_alone() -> None:
    """Of three people of the population the list knows one, and nobody is where the source is."""
    text = """
    name = "p"
    source = { table = "t" }
    population = { table = "everybody" }
    privacy = { k_map = 3 }
    release = { kind = "table", to = "shown" }
    [quasi_identifiers.city]
    hierarchy = { table = "dim", columns = ["city", "country"] }
    """
    with duckdb.connect() as db:
        db.execute("CREATE TABLE t AS SELECT 'Paris' AS city FROM range(4)")
        db.execute("CREATE TABLE dim AS SELECT 'Paris' AS city, 'France' AS country UNION ALL SELECT 'Lyon', 'France'")
        db.execute("CREATE TABLE everybody AS SELECT UNNEST(['Lyon', 'Oslo', 'Oslo']) AS city")
        result = api.run(Policy.parse(text), db)
        assert result.levels == {"city": 2}
        assert {f.constraint.name: f.measured for f in result.constraints} == {"k": 4, "k_map": 3}
        assert "population: 4 rows of the source are not in it" in str(result.warnings)
        at_1 = api.check(Policy.parse(text), db, levels={"city": 1})
        assert {f.constraint.name: f.measured for f in at_1.constraints} == {"k": 4, "k_map": 1}


def test_everybody_must_be_covered_where_presence_has_a_least(town: Folder, duckanon: Command) -> None:
    """Who is not below a released label is surely not there."""
    text = with_sizes("k = 1\npresence = { least = 0.2, most = 0.5 }")
    told = duckanon("run", town.policy(text), "--json").json
    assert measured(told)["presence_least"] == pytest.approx(200 / 600)
    town.sql("INSERT INTO everybody VALUES (20, '99999', 'f', 'Zoe')")
    told = duckanon("check", town.policy(text), "--release", "--json").json
    assert (told["status"], measured(told)["presence_least"]) == ("holds", pytest.approx(200 / 601))
    at_zip = duckanon("check", town.policy(text), "--levels", "age=4,zip=1,sex=1", "--json").json
    assert measured(at_zip)["presence_least"] == 0


def test_a_view_follows_the_population(town: Folder, duckanon: Command) -> None:
    text = released_to("view", "shown", with_sizes("k_map = 7\nrows_at_risk = { share = 0.9, risk = 0.5 }"))
    policy, shown = town.policy(text), "SELECT COUNT(*) FROM shown"
    assert duckanon("run", policy).code == 0
    ((before,),) = town.sql(shown)
    town.sql("DELETE FROM everybody WHERE zip = '02133'")
    ((after,),) = town.sql(shown)
    assert 0 < after < before
    told = duckanon("check", policy, "--release", "--json").json
    assert (told["status"], measured(told)["k_map"] >= 7) == ("holds", True)
    town.sql("DELETE FROM everybody")
    assert town.sql(shown) == [(0,)]


def test_a_change_of_the_population_is_one_of_the_source(town: Folder, duckanon: Command) -> None:
    policy = town.policy(MAPPED + '[ledger]\ndatabase = "ledger.duckdb"\n')
    assert [duckanon("run", policy, "--if-changed", "--json").json["status"] for _ in range(2)] == [
        "released",
        "unchanged",
    ]
    town.sql("INSERT INTO everybody FROM everybody LIMIT 1")
    assert duckanon("run", policy, "--if-changed", "--json").json["status"] == "released"


def test_a_search_that_forgets_the_population_is_not_verified(
    town: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = town.policy(with_sizes("k = 2\nk_map = 60\npresence = { least = 0, most = 0.3 }\naverage_risk = 0.02"))
    for rules in ("size_rules", "total_rules"):
        monkeypatch.setattr(f"duckanon.search.measure.{rules}", lambda thresholds: ())
    told = duckanon("run", policy, "--json").json
    assert told["status"] == "violated"
    broken = {found["name"] for found in told["constraints"] if not found["holds"]}
    assert broken == {"k_map", "presence_most", "average_risk"}
    assert town.sql("SELECT COUNT(*) FROM duckdb_tables() WHERE table_name = 'people_anonymous'") == [(0,)]


def test_a_climb_loses_less_and_is_verified(town: Folder, duckanon: Command) -> None:
    """By the labels that it shows, whatever their levels; it counts people who have a tuple of the source."""
    town.sql("DELETE FROM everybody", "INSERT INTO everybody SELECT age, zip, sex, name FROM people, range(5)")
    text = with_sizes("k_map = 20", MAPPED.replace("l = 2", ""))
    best = duckanon("run", town.policy(text), "--method", "optimal", "--json").json
    climbed = duckanon("run", town.policy(text), "--method", "climb", "--json").json
    assert climbed["status"] == "released"
    assert climbed["utility"]["ncp"] < best["utility"]["ncp"]
    assert measured(climbed)["k_map"] >= 20 > measured(climbed)["k"]
    town.sql("DELETE FROM everybody WHERE zip = '02133'")
    told = duckanon("check", town.policy(text), "--method", "climb", "--release", "--json").json
    assert (told["status"], measured(told)["k_map"] < 20) == ("violated", True)


def test_the_risk_of_people(people: Folder, duckanon: Command) -> None:
    """Where a person has several rows, it is people who are found. Where the lattice is walked in the warehouse, it
    comes to the same."""
    people.sql("UPDATE people SET name = 'person ' || (regexp_extract(name, '[0-9]+')::INTEGER // 4)")
    text = with_sizes("k = 2\naverage_risk = 0.08\nrows_at_risk = 0.1").replace(
        '[population]\ntable = "everybody"\n', ""
    )
    asked = text.replace("average_risk", 'entity = "name"\naverage_risk')
    told = duckanon("run", people.policy(asked), "--json").json
    assert told["status"] == "released"
    classes = people.sql("SELECT age, zip, sex, COUNT(*) FROM people_anonymous GROUP BY ALL")
    found = measured(told)
    assert len(classes) / sum(rows for *_, rows in classes) < found["average_risk"] <= 0.08
    told_of = told["privacy"]["risk"]["prosecutor"]
    assert found["average_risk"] == pytest.approx(told["privacy"]["average_risk"]) == told_of["average"]
    assert found["rows_at_risk"] == pytest.approx(told_of["share_at_risk"])
    assert found["rows_at_risk"] <= 0.1
    here, there = (
        duckanon("run", people.policy(f'{text}[search]\nwhere = "{where}"\n'), "--json").json
        for where in ("workbench", "warehouse")
    )
    assert (here["levels"], here["constraints"]) == (there["levels"], there["constraints"])


# -- what is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ('table = "everbody"', "population.table: there is no table or view 'everbody'"),
        ("query = \"SELECT age, 'x' AS zip FROM people\"", "quasi_identifiers: sex: there is no such column in the"),
        ('query = "SELECT age::VARCHAR AS age, zip, sex FROM people"', "population: age: is of type VARCHAR, in the"),
        ('query = "SELECT age, zip COLLATE NOCASE AS zip, sex FROM people"', "population: zip: has a collation"),
        ('table = "people"\nquery = "SELECT 1"', "population: must have exactly one of table, query, file, size,"),
        ("size = 0", "population.size: must be a whole number of at least 1"),
        ("sampling_fraction = 1.5", "population.sampling_fraction: must be a number above 0 and at most 1"),
        ("size = 1000", "privacy.k_map: counts the rows of the population that a label covers, and there are none"),
        ('file = "nobody.csv"', "nobody.csv: there is no such file"),
    ],
)
def test_a_population_that_is_none(town: Folder, duckanon: Command, given: str, said: str) -> None:
    told = duckanon("run", town.policy(MAPPED.replace('table = "everybody"', given)))
    assert told.code == 2
    assert said in told.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (MAPPED + '[search]\nmethod = "alpha_k_clustering"\n', "privacy.k_map: does not go with alpha_k_clustering"),
        (
            with_sizes("k = 2\npresence = { least = 0, most = 0.5 }") + '[search]\nmethod = "climb"\n',
            "privacy.presence: does not go with climb, whose labels are of differing levels",
        ),
        (
            released_to("view", "v", MAPPED + '[search]\nmethod = "climb"\n'),
            "release.kind: a view of climb cannot count the population that privacy.k_map asks for",
        ),
        (with_sizes("k = 2\naverage_risk = 0.1") + '[search]\nmethod = "climb"\n', "privacy.average_risk: does not go"),
        (with_sizes('k_map = 7\nentity = "name"'), "privacy.entity: does not go with privacy.k_map, which counts rows"),
        (MAPPED + '[search]\nwhere = "warehouse"\n', '"warehouse" does not go with a population'),
        (
            released_to("view", "v", MAPPED.replace('table = "everybody"', 'query = "FROM everybody"')),
            "population: a view counts the population as it is, so it must be a table or view",
        ),
        (with_sizes("presence = { least = 0.5, most = 0.2 }\nk = 2"), "presence: least = 0.5 is above most = 0.2"),
        (with_sizes("average_risk = 0.1"), "privacy.k: is missing"),
        (
            MAPPED.replace("20] }", '20] }\nrelease_as = "mean"'),
            "quasi_identifiers.age.release_as: mean does not go with a population",
        ),
        (with_sizes("k = 2\nrows_at_risk = { share = 0.1 }"), "privacy.rows_at_risk.risk: is missing"),
    ],
)
def test_what_does_not_go_together(text: str, said: str) -> None:
    with pytest.raises(PolicyError) as refused:
        Policy.parse(text)
    assert said in str(refused.value)


def test_no_release_takes_the_place_of_the_population(town: Folder, duckanon: Command) -> None:
    told = duckanon("run", town.policy(released_to("table", "everybody", MAPPED)), "--replace")
    assert (told.code, "everybody is read by the source" in told.err) == (2, True)
    town.sql(f"COPY everybody TO '{town.path}/all.csv'")
    text = released_to("csv", "all.csv", MAPPED.replace('table = "everybody"', 'file = "all.csv"'))
    told = duckanon("run", town.policy(text), "--replace")
    assert (told.code, "is the population itself" in told.err) == (2, True)
    assert town.sql("SELECT COUNT(*) FROM everybody") == [(600,)]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("k_map = 601", "privacy.k_map: 601 is above the 600 rows of the population"),
        ("k = 1\npresence = { least = 0.4, most = 1 }", "privacy.presence.least: 0.4 is above the share of the"),
        ("k = 1\npresence = { least = 0, most = 0.2 }", "privacy.presence.most: 0.2 is below the share of the"),
        ("k = 1\naverage_risk = 0.004", "privacy.average_risk: 0.004 is below that of all 200 rows in one class"),
        ("k = 1\nrows_at_risk = { share = 0.5, risk = 0.001 }", "privacy.rows_at_risk: the source has 200 rows"),
    ],
)
def test_what_can_never_hold_is_said_before_a_search(town: Folder, duckanon: Command, asked: str, said: str) -> None:
    told = duckanon("run", town.policy(with_sizes(asked)), "--json")
    assert (told.code, told.json["status"], told.json["path"]) == (1, "infeasible", [])
    assert said in told.json["reasons"][0]


def test_a_policy_that_asks_for_less_says_so(town: Folder, duckanon: Command) -> None:
    assert duckanon("run", town.policy(with_sizes("k_map = 9\nrows_at_risk = 0.5"))).code == 0
    told = duckanon("run", town.policy(with_sizes("k_map = 7\nrows_at_risk = { share = 0.5, risk = 0.4 }")))
    assert "privacy.k_map was 9, is 7; privacy.rows_at_risk.risk was 0.2, is 0.4" in told.err + told.out


# -- what is told -----------------------------------------------------------------------------------


def test_the_risk_of_three_who_look_for_people(town: Folder, duckanon: Command) -> None:
    """With a table of the population, with its size, and with neither."""
    text = with_sizes("k = 2\nrows_at_risk = { share = 1, risk = 0.1 }")
    by_table = duckanon("run", town.policy(text), "--json").json["privacy"]
    classes = town.sql("SELECT COUNT(*) AS x FROM people_anonymous GROUP BY age, zip, sex")
    sizes = [size for (size,) in classes]
    prosecutor = {
        "highest": 1 / min(sizes),
        "average": len(sizes) / sum(sizes),
        "share_at_risk": sum(size for size in sizes if size < 10) / sum(sizes),
    }
    risk = by_table["risk"]
    assert risk["threshold"] == 0.1
    assert risk["prosecutor"] == pytest.approx(prosecutor)
    assert 0 < risk["journalist"]["average"] < risk["prosecutor"]["average"]
    assert risk["marketer"] == risk["journalist"]["average"]
    assert "population_uniques" not in risk
    by_size = duckanon("run", town.policy(text.replace('table = "everybody"', "size = 2000")), "--json").json["privacy"]
    journalist = {"highest": 0.1 / min(sizes), "average": 0.1 * len(sizes) / sum(sizes), "share_at_risk": 0.0}
    assert by_size["risk"]["journalist"] == pytest.approx(journalist)
    assert by_size["risk"]["population_uniques"]["estimate"] == 0, "nobody is alone in a class of two"
    alone = duckanon("run", town.policy(text.replace('[population]\ntable = "everybody"\n', "")), "--json").json
    assert alone["privacy"]["risk"] | {"journalist": None} == alone["privacy"]["risk"]
    assert alone["privacy"]["risk"]["marketer"] == alone["privacy"]["average_risk"]


def test_a_source_larger_than_its_population(town: Folder) -> None:
    text = with_sizes("k = 2").replace('table = "everybody"', "size = 20")
    with api.connect(town.database) as db, pytest.raises(SourceError, match=r"size: 20 is below the 200 rows"):
        api.run(Policy.parse(text, town.path), db)


def test_a_report_tells_of_who_may_look(town: Folder, duckanon: Command) -> None:
    policy = town.policy(with_sizes("k_map = 7\npresence = { least = 0, most = 0.9 }"))
    told = duckanon("run", policy, "--report", town.path / "report.md", "--json").json
    text = (town.path / "report.md").read_text(encoding="utf-8")
    highest = told["privacy"]["risk"]["journalist"]["highest"]
    assert f"| journalist | who is in the population | {highest:.2%} |" in text
    assert r"| presence\_most | ≤ 0.9 |" in text
    estimated = (
        PEOPLE.replace("k = 3", "k = 1")
        .replace("[privacy]", "[population]\nsize = 2000\n[privacy]")
        .replace("l = 2", "")
    )
    told = duckanon("run", town.policy(estimated), "--report", town.path / "report.html", "--json").json
    page = (town.path / "report.html").read_text(encoding="utf-8")
    alone = told["privacy"]["risk"]["population_uniques"]
    assert f"Estimated: of 2,000 people of the population {round(alone['estimate']):,} are alone" in page
    assert "<td>everybody in the population, and looks for all</td>" in page
    assert "among the people of the population: highest risk" in duckanon("check", policy, "--release").out
