"""The levels that a policy allows: what is counted, what is measured, what is said."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, product
from pathlib import Path

import duckdb
import pytest

from duckanon import HierarchyError, Policy, PolicyError
from duckanon.census import Census, take_census
from duckanon.census.source import bind_source
from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.engine.scratch import Scratch
from duckanon.recoding.full_domain import FullDomain
from duckanon.search.measure import Measurer
from duckanon.search.problem import Problem
from tests.support.command import Command
from tests.support.figures import alike, lost
from tests.support.folder import Folder
from tests.support.local_people import METHODS
from tests.support.local_people import policy as local_policy
from tests.support.people import PEOPLE

VISITS = """
name = "visits"
[source]
table = "visits"
[privacy]
k = 2
suppression = 0.3
unmapped = "{fate}"
[quasi_identifiers.age]
hierarchy = {{ intervals = [5, 10, 20] }}
[quasi_identifiers.born]
hierarchy = {{ dates = ["month", "year"] }}
[quasi_identifiers.city]
hierarchy = "city.csv"
[sensitive.ill]
l = 2
t = 0.9
[columns]
identifiers = ["name"]
keep = ["ward"]
[search]
method = "greedy"
[release]
kind = "table"
to = "shown"
"""
CITIES = "level_0,level_1,level_2\nulm,north,*\nys,north,*\nrom,south,*\noslo,north,*\n"


@pytest.fixture
def visits(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Some ages, days and cities are NULL, some cities and days are known to nobody."""
    (tmp_path / "city.csv").write_text(CITIES)
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT 'n' || i // 3 AS name, nullif(20 + i * 7 % 31, 23) AS age, "
            "['1980-01-01', '1980-02-03', '1981-07-07', NULL, 'soon'][1 + i % 5] AS born, "
            "['ulm', 'ys', 'rom', 'atlantis', NULL][1 + i // 3 % 5] AS city, "
            "['flu', 'cold', 'HIV', NULL][1 + i // 2 % 4] AS ill, 'w' || i % 2 AS ward FROM range(400) r(i)"
        )
        yield connection


@contextmanager
def counted(policy: Policy, connection: duckdb.DuckDBPyConnection) -> Iterator[Census]:
    warehouse = DuckDB.wrap(connection)
    scratch = Scratch(warehouse)
    yield take_census(policy, bind_source(policy, warehouse, scratch), scratch)
    scratch.clear()


def bounded(text: str, **levels: tuple[int, int]) -> str:
    for name, (least, most) in levels.items():
        section = f"[quasi_identifiers.{name}]\n"
        text = text.replace(section, f"{section}at_least = {least}\nat_most = {most}\n")
    return text


@pytest.mark.parametrize("entity", [False, True])
@pytest.mark.parametrize("fate", ["suppress", "top"])
def test_every_figure_is_that_of_the_unbounded_census(
    visits: duckdb.DuckDBPyConnection, tmp_path: Path, fate: str, entity: bool
) -> None:
    text = VISITS.format(fate=fate)
    if entity:
        text = text.replace("k = 2", 'k = 2\nentity = "name"').replace('identifiers = ["name"]\n', "")
    whole = Policy.parse(text, tmp_path)
    some = Policy.parse(bounded(text, age=(1, 3), born=(2, 3), city=(1, 2)), tmp_path)
    with counted(whole, visits) as every, counted(some, visits) as fewer:
        assert (fewer.rows, fewer.left_out, fewer.people) == (every.rows, every.left_out, every.people)
        assert [h.levels for h in fewer.hierarchies] == [h.levels for h in every.hierarchies]
        assert fewer.unmapped == every.unmapped
        tuples = [census.workbench.fetch(f'SELECT count(*) FROM "{census.table.name}"') for census in (every, fewer)]
        assert tuples[1] <= tuples[0] if entity else tuples[1] < tuples[0]  # the tuples of people are those of each
        measurers = [Measurer(Problem.of(*part)) for part in ((whole, every), (some, fewer))]
        for node in product((1, 2, 3), (2, 3), (1, 2)):
            one, other = (measurer.measure(node, wholly=True) for measurer in measurers)
            assert other == one
        recodings = [FullDomain(measurer, measurer.measure((2, 2, 1), wholly=True)) for measurer in measurers]
        assert recodings[1].utility() == recodings[0].utility()


def test_what_is_always_removed_is_not_counted(visits: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    text = VISITS.format(fate="suppress")
    policy = Policy.parse(bounded(text, age=(4, 4), born=(3, 3)), tmp_path)
    with counted(policy, visits) as census:
        assert census.finest == ["q2_0"]
        ((tuples,),) = census.workbench.fetch(f'SELECT count(*) FROM "{census.table.name}"')
    cities = "SELECT DISTINCT city, ill, ward FROM visits WHERE born IS DISTINCT FROM 'soon'"
    known = f"SELECT count(*) FROM ({cities}) WHERE city IS DISTINCT FROM 'atlantis'"
    assert visits.execute(known).fetchall() == [(tuples,)]


def test_what_a_hierarchy_does_not_know_is_an_error_all_the_same(
    visits: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    policy = Policy.parse(bounded(VISITS.format(fate="error"), city=(1, 1)), tmp_path)
    with pytest.raises(HierarchyError, match="does not map 1 value of the source"), counted(policy, visits):
        pass


# -- what is wrong with bounds ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("at_least = -1", "at_least: must be a whole number of at least 0, found -1"),
        ("at_most = 1.5", "at_most: must be a whole number of at least 0, found 1.5"),
        ("at_least = true", "at_least: must be a whole number"),
        ("at_least = 2\nat_most = 1", "at_most: is 1, below at_least = 2"),
    ],
)
def test_a_fault_of_the_policy_is_named(keys: str, words: str) -> None:
    with pytest.raises(PolicyError, match=f"quasi_identifiers.sex.{words}"):
        Policy.parse(PEOPLE.replace("[quasi_identifiers.sex]", f"[quasi_identifiers.sex]\n{keys}"))


def test_a_level_that_the_hierarchy_does_not_have_is_named(people: Folder, duckanon: Command) -> None:
    text = PEOPLE.replace("[quasi_identifiers.sex]", "[quasi_identifiers.sex]\nat_least = 2\nat_most = 3")
    for command in ("run", "check", "hierarchy"):
        told = duckanon(command, people.policy(text))
        assert told.code == 2
        assert "quasi_identifiers.sex.at_least: 2 is no level of its hierarchy, which has 0 to 1" in told.err
        assert "quasi_identifiers.sex.at_most: 3 is no level" in told.err


# -- runs ---------------------------------------------------------------------------------------------

BOUNDED = bounded(PEOPLE, age=(1, 2), zip=(1, 3))


@pytest.mark.parametrize(("method", "kind"), [("greedy", "view"), ("optimal", "table"), ("datafly", "table")])
def test_a_release_keeps_to_the_levels(people: Folder, duckanon: Command, method: str, kind: str) -> None:
    path = people.policy(BOUNDED.replace('kind = "table"', f'kind = "{kind}"') + f'[search]\nmethod = "{method}"\n')
    told = duckanon("run", path, "--json")
    assert told.code == 0, told.err
    levels = told.json["levels"]
    assert 1 <= levels["age"] <= 2
    assert 1 <= levels["zip"] <= 3
    checked = duckanon("check", path, "--release", "--json")
    assert (checked.code, checked.json["levels"]) == (0, levels)
    assert alike(checked.json["utility"], lost(told.json["utility"]))


@pytest.mark.parametrize(("method", "kind"), [*zip(METHODS, cycle(["view", "table"]), strict=False)])
def test_so_does_one_at_levels_of_its_own(people: Folder, duckanon: Command, method: str, kind: str) -> None:
    path = people.policy(bounded(local_policy(method, kind, "0.3"), age=(1, 2), zip=(1, 2), sex=(0, 1)))
    told = duckanon("run", path, "--json")
    assert told.code == 0, told.err
    for part in told.json["classes_by_levels"]:
        assert part["levels"]["age"] in (1, 2)
        assert part["levels"]["zip"] in (1, 2)
    labels = {label for row in people.sql("SELECT DISTINCT age, zip FROM out") for label in row if label}
    assert not any(label.isdecimal() or not label.strip("*") for label in labels)
    checked = duckanon("check", path, "--release", "--json")
    assert checked.code == 0, checked.out
    assert checked.json["utility"]["ncp"] == pytest.approx(told.json["utility"]["ncp"])


def test_a_view_of_levels_of_its_own_shows_who_comes_to_a_class(people: Folder, duckanon: Command) -> None:
    """Of a tuple that was not there, but for its labels; not of values that were not."""
    path = people.policy(bounded(local_policy("climb", "view", "0.3"), age=(4, 4), zip=(2, 2)))
    assert duckanon("run", path).code == 0
    before = people.sql("SELECT count(*) FROM out WHERE sex IN (SELECT min(sex) FROM out)")
    people.sql("INSERT INTO people SELECT 'new', 20, '02141', min(sex), min(disease) FROM out")
    people.sql("INSERT INTO people SELECT 'odd', 119, '02199', min(sex), min(disease) FROM out")
    after = people.sql("SELECT count(*) FROM out WHERE sex IN (SELECT min(sex) FROM out)")
    assert after[0][0] == before[0][0] + 1


def test_why_there_is_no_release_within_the_caps(people: Folder, duckanon: Command) -> None:
    text = bounded(PEOPLE, age=(0, 0), zip=(0, 1)).replace("suppression = 0.1", "suppression = 0")
    told = duckanon("run", people.policy(text), "--json")
    assert (told.code, told.json["status"]) == (1, "infeasible")
    assert "with everything generalized as far as at_most allows (age 0, zip 1)" in " ".join(told.json["reasons"])


def test_a_check_says_what_is_outside(people: Folder, duckanon: Command) -> None:
    assert duckanon("run", people.policy(bounded(PEOPLE, age=(0, 1), zip=(3, 3)))).code == 0
    told = duckanon("check", people.policy(bounded(PEOPLE, age=(2, 3), zip=(3, 3))), "--release")
    assert told.code == 1
    assert "labels are of none of the levels allowed, 2 to 3" in told.err
    assert "does NOT hold" in told.err
    told = duckanon("check", people.policy(bounded(PEOPLE, age=(2, 3))))
    assert "age: is as it is, the policy allows levels 2 to 3" in told.err


def test_hierarchy_and_sql_know_the_bounds(people: Folder, duckanon: Command) -> None:
    shown = duckanon("hierarchy", people.policy(BOUNDED), "age").out
    assert "released at levels 1 to 2" in shown.splitlines()[0]
    assert ["never released" in line for line in shown.splitlines()[1:]] == [True, False, False, True, True]
    told = duckanon("sql", people.policy(BOUNDED), "--levels", "age=0")
    assert told.code == 2
    assert "'age=0' must be a level from 1 to 2" in told.err
    printed = duckanon("sql", people.policy(BOUNDED), "--levels", "zip=2").out
    assert "q0_1 is the code of age at level 1" in printed
    assert "levels age=1, zip=2, sex=0" in printed


def test_a_mode_follows_the_last_release_within_the_bounds(people: Folder, duckanon: Command) -> None:
    def run(mode: str, **levels: tuple[int, int]) -> tuple[int, str]:
        text = bounded(PEOPLE, **levels) + f'mode = "{mode}"\ndifference = "ignore"\n'
        told = duckanon("run", people.policy(text), "--json")
        return told.code, told.err if told.code == 2 else told.json["levels"]

    code, first = run("search", age=(1, 1), zip=(1, 3))
    assert code == 0
    assert run("fixed", age=(1, 3), zip=(1, 3)) == (0, first)
    code, said = run("fixed", age=(2, 3), zip=(1, 3))
    assert code == 2
    assert "the last release shows age at level 1, the policy allows levels 2 to 3" in said
    code, levels = run("monotone", age=(2, 3), zip=(1, 3))
    assert code == 0
    assert isinstance(levels, dict)
    assert levels["age"] >= 2
    code, said = run("monotone", age=(0, 1), zip=(1, 3))
    assert code == 2
    assert "the policy allows levels 0 to 1" in said


def test_an_increment_joins_classes_of_bounded_levels(people: Folder, duckanon: Command) -> None:
    path = people.policy(BOUNDED + 'difference = "ignore"\n')
    first = duckanon("run", path, "--json").json
    people.sql("INSERT INTO people SELECT p.* FROM people p LIMIT 40")
    told = duckanon("run", path, "--incremental", "--json")
    assert told.code == 0, told.err
    assert told.json["levels"] == first["levels"]
    assert told.json["rows"]["new"] > 0


# -- too many counts ----------------------------------------------------------------------------------


def test_more_counts_than_allowed_end_the_run(people: Folder, duckanon: Command) -> None:
    ((counts,),) = people.sql("SELECT count(*) FROM (SELECT DISTINCT age, zip, sex, disease FROM people)")
    limited = f"{PEOPLE}[search]\ncensus_limit = "
    assert duckanon("run", people.policy(f"{limited}{counts}"), "--dry-run").code == 0
    told = duckanon("run", people.policy(f"{limited}{counts - 1}"))
    assert told.code == 2
    assert f"search.census_limit: there are {counts:,} counts, more than {counts - 1:,}" in told.err
    assert "at_least" in told.err
    fewer = bounded(f"{limited}{counts - 1}", age=(1, 4))
    assert duckanon("run", people.policy(fewer), "--dry-run").code == 0
