"""What the page shows of a node: the figures of `check --levels`, and rows that would be released and no others."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import duckanon as api
from duckanon.engine.opening import warehouse_of
from duckanon.exploration import Exploration, explored
from duckanon.exploration.page import Page as ExplorePage
from duckanon.exploration.setting import read_setting
from duckanon.watch import Watch
from tests.support.case_warehouse import warehouse
from tests.support.command import Command
from tests.support.examples import examples
from tests.support.exploring import Shown, exploring, must_be_those_of
from tests.support.far import PostgresDatabase
from tests.support.far_people import FAR
from tests.support.folder import Folder, opened
from tests.support.hostile import HOSTILE
from tests.support.people import PEOPLE, UNCOMPARED
from tests.support.spark import Lake
from tests.support.variants import KEY, Variant, variants

KEPT = PEOPLE.replace('identifiers = ["name"]', 'identifiers = []\nkeep = ["name"]')


def shown_at(exploration: Exploration, levels: Any, **fields: str) -> Shown:
    """By the names of the fields, what is set instead of what the policy says."""
    texts = tuple(fields.get(field.name.replace(" ", "_"), field.text) for field in exploration.fields)
    setting = replace(exploration.setting, levels=tuple(levels), texts=texts)
    return Shown(ExplorePage(exploration, "policy.toml").figures(setting))


@examples(3)
@given(variants(), st.data())
def test_the_figures_are_those_of_check(variant: Variant, data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch, warehouse(variant.case) as (db, folder):
        patch.setenv(KEY, "a key that is long enough for this test, 0123456789")
        policy = api.Policy.parse(variant.toml(), folder)
        try:
            with warehouse_of(db) as there, explored(policy, there, Watch()) as exploration:
                hierarchies = exploration.census.hierarchies
                levels = [data.draw(st.integers(h.lowest, h.highest)) for h in hierarchies]
                shown = shown_at(exploration, levels)
        except api.DuckanonError as error:
            with pytest.raises(type(error)):
                api.check(policy, db, levels={})
            return
        assert not db.execute("SELECT table_name FROM duckdb_tables() WHERE temporary").fetchall()
        named = {h.column.name: level for h, level in zip(hierarchies, levels, strict=True)}
        told = api.check(policy, db, levels=named).as_json()
        must_be_those_of(shown.page, told, shown.told["holds"])


def test_what_is_set_is_what_is_measured(people: Folder, duckanon: Command) -> None:
    policy = people.policy(PEOPLE)
    before = people.dump()
    with exploring(policy) as exploration:
        assert [field.name for field in exploration.fields] == ["k", "budget", "l of disease"]
        for levels, set_ in (
            ((2, 1, 0), {"k": "5"}),
            ((3, 2, 1), {"budget": "0"}),
            ((2, 3, 0), {"k": "4", "budget": "7", "l_of_disease": "3"}),
            ((4, 3, 1), {"l_of_disease": "4"}),
        ):
            shown = shown_at(exploration, levels, **set_)
            words = {"k": "privacy.k", "budget": "privacy.suppression", "l_of_disease": "sensitive.disease.l"}
            changed = [word for name, text in set_.items() for word in ("--set", f"{words[name]}={text}")]
            node = ",".join(f"{name}={level}" for name, level in zip(("age", "zip", "sex"), levels, strict=True))
            told = duckanon("check", policy, "--levels", node, *changed, "--json").json
            must_be_those_of(shown.page, told, shown.told["holds"])
            assert str(told["rows"]["suppressed"]) in shown.told["said"]
    assert people.dump() == before


def test_thresholds_on_sizes_are_set_like_those_on_values(people: Folder, duckanon: Command) -> None:
    sizes = "k_map = 4\naverage_risk = 0.5\npresence = { least = 0, most = 1 }\n"
    text = PEOPLE.replace("[privacy]\n", f"[privacy]\n{sizes}") + '[population]\ntable = "people"\n'
    policy = people.policy(text)
    with exploring(policy) as exploration:
        names = [field.name for field in exploration.fields]
        assert {"k_map", "average_risk", "presence least", "presence most"} < set(names)
        for levels, set_ in (((2, 1, 0), {"k_map": "30"}), ((3, 2, 1), {"average_risk": "0.01"})):
            shown = shown_at(exploration, levels, **set_)
            changed = [word for name, value in set_.items() for word in ("--set", f"privacy.{name}={value}")]
            node = ",".join(f"{name}={level}" for name, level in zip(("age", "zip", "sex"), levels, strict=True))
            told = duckanon("check", policy, "--levels", node, *changed, "--json").json
            must_be_those_of(shown.page, told, shown.told["holds"])


def test_it_begins_where_a_run_would_come_to_and_finds_the_same_again(people: Folder, duckanon: Command) -> None:
    policy = people.policy(PEOPLE)
    run = duckanon("run", policy, "--dry-run", "--json").json
    with exploring(policy) as exploration:
        assert list(exploration.setting.levels) == list(run["levels"].values())
        found = exploration.search(replace(exploration.setting, method="optimal"))
        page = ExplorePage(exploration, "policy.toml")
        told = page.found(exploration.search(exploration.setting))
        assert told["levels"] == list(run["levels"].values())
        assert told["html"].count("data-take") == len(run["path"]) > 1
        assert found.levels == duckanon("run", policy, "--dry-run", "--json", "--method", "optimal").json["levels"]
        local = page.found(exploration.search(replace(exploration.setting, method="climb")))
        assert local["levels"] is None
        assert "Every class has its own levels" in local["html"]
        none = page.found(exploration.search(replace(exploration.setting, texts=("300", "0.1", "2"))))
        assert "300 is above the 200 rows" in none["html"]


# -- what is shown of rows ------------------------------------------------------------------------


def test_a_sample_is_of_what_would_be_released_without_what_is_kept(people: Folder, duckanon: Command) -> None:
    policy = people.policy(KEPT)
    with exploring(policy) as exploration:
        sample = exploration.sample(exploration.setting)
        finest = replace(exploration.setting, levels=exploration.census.bottom)
        refused = exploration.sample(finest)
        whole = ExplorePage(exploration, "policy.toml").whole()
    assert (sample.columns, sample.left_out) == (("age", "zip", "sex", "disease"), ("name",))
    assert duckanon("run", policy).code == 0
    released = Counter(people.sql("SELECT age, zip, sex, disease FROM people_anonymous"))
    assert 2 <= len(sample.rows) <= 8
    assert not Counter(sample.rows) - released
    assert (refused.rows, refused.why_none) == ((), "these levels do not hold, and nothing would be released")
    assert "person 1" not in whole


@pytest.mark.parametrize("number", ["mean", "midpoint"])
def test_where_classes_show_numbers_and_not_labels(number: str, people: Folder, duckanon: Command) -> None:
    """Several classes may come to show the same."""
    text = PEOPLE.replace("intervals = [5, 10, 20] }", f'intervals = [5, 10, 20] }}\nrelease_as = "{number}"')
    policy = people.policy(text)
    with exploring(policy) as exploration:
        shown = shown_at(exploration, (2, 2, 0))
        sample = exploration.sample(replace(exploration.setting, levels=(2, 2, 0)))
    told = duckanon("check", policy, "--levels", "age=2,zip=2,sex=0", "--json").json
    must_be_those_of(shown.page, told, shown.told["holds"])
    ages = [float(row[0]) for row in sample.rows]
    assert ages
    assert set(ages) <= {25, 35, 45, 55} or number == "mean"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('difference = "refuse"\n', "release.difference is refuse"),
        ('mode = "fixed"\n', "release.mode is fixed"),
        ('mode = "monotone"\n', "release.mode is monotone"),
    ],
)
def test_no_sample_of_what_a_run_would_not_release(more: str, said: str, people: Folder, duckanon: Command) -> None:
    policy = people.policy(PEOPLE + UNCOMPARED.replace(UNCOMPARED, "" if "difference" in more else UNCOMPARED) + more)
    assert duckanon("run", policy, "--set", "privacy.k=60").code == 0
    with exploring(policy) as exploration:
        setting = replace(exploration.setting, levels=(2, 3, 1), texts=("3", "0.9", "2"))
        sample = exploration.sample(setting)
        assert exploration.figures(setting).holds
    assert sample.rows == ()
    assert said in sample.why_none


def test_no_rows_and_no_labels_by_asking_for_less_than_the_policy(people: Folder) -> None:
    """Who sets k to 1 does not see the source."""
    people.sql("UPDATE people SET zip = '99999' WHERE name = 'person 7'")
    with exploring(people.policy(PEOPLE)) as exploration:
        setting = replace(exploration.setting, levels=(0, 0, 0), texts=("1", "0.1", "1"))
        page = ExplorePage(exploration, "policy.toml")
        told, more = page.figures(setting), page.more(setting)
        assert told["holds"]
        assert "this asks for less than the policy: privacy.k was 3, is 1" in told["figures"]
        assert "this asks for less than the policy" in more["sample"]
        assert "<td>" not in more["sample"]
        assert exploration.labels(setting, 1) == exploration.labels(setting, 3)
        coarser = replace(setting, levels=(4, 0, 1), texts=("3", "0.1", "2"))
        assert "<td>" in page.more(coarser)["sample"]
        assert "99999" not in page.more(coarser)["sample"] + str(page.figures(coarser)["columns"])


def test_labels_are_those_that_at_least_k_have(people: Folder) -> None:
    people.sql("UPDATE people SET zip = '99999' WHERE age = 20")
    ((alone,),) = people.sql("SELECT COUNT(*) FROM people WHERE age = 20")
    with exploring(people.policy(PEOPLE)) as exploration:
        setting = replace(exploration.setting, levels=(0, 0, 1))
        ages, zips, sexes = exploration.labels(setting, 3)
        assert len(ages) == 4
        assert sexes == ()
        assert "99999" not in exploration.labels(setting, alone + 20)[1]
        assert exploration.labels(setting, 201) == [(), (), ()]
        assert exploration.labels(replace(setting, levels=(4, 3, 0)), 3) == [(), (), ("F", "M")]
        assert zips


# -- odd and elsewhere ----------------------------------------------------------------------------


def test_names_and_labels_are_text(hostile: Folder) -> None:
    odd = "<script>alert(1)</script>"
    hostile.sql(
        f'ALTER TABLE "we""ird; drop" RENAME "a b" TO "{odd}"',
        f"""UPDATE "we""ird; drop" SET "it's" = '{odd}' WHERE n = 0""",
    )
    text = HOSTILE.format(table='"we""ird; drop"', kind="table", to="odd").replace('"a b"', f'"{odd}"')
    with exploring(hostile.policy(text)) as exploration:
        page = ExplorePage(exploration, f"{odd}.toml")
        made = (
            page.whole()
            + page.more(exploration.setting)["sample"]
            + page.found(exploration.search(exploration.setting))["html"]
        )
    assert made.count("<script") == 1
    assert '<script src="explore.js" defer></script>' in made
    assert made.count("&lt;script&gt;alert(1)&lt;/script&gt;") > 5


@pytest.mark.parametrize(
    "asked",
    [
        None, [], {}, {"levels": [0, 0, 0], "texts": ["3", "0.1", "2"]},
        {"levels": [9, 0, 0], "texts": ["3", "0.1", "2"], "method": "greedy"},
        {"levels": [0, 0, True], "texts": ["3", "0.1", "2"], "method": "greedy"},
        {"levels": [0, 0, 0], "texts": ["3", "0.1"], "method": "greedy"},
        {"levels": [0, 0, 0], "texts": ["3", "", "2"], "method": "greedy"},
        {"levels": [0, 0, 0], "texts": ["3", "0.1", 2], "method": "greedy"},
        {"levels": [0, 0, 0], "texts": ["3\nprivacy.k=1", "0.1", "2"], "method": "greedy"},
        {"levels": [0, 0, 0], "texts": ["{}", "0.1", "2"], "method": "greedy"},
        {"levels": [0, 0, 0], "texts": ["0", "0.1", "2"], "method": "greedy"},
        {"levels": [0, 0, 0], "texts": ["3", "2.5", "2"], "method": "greedy"},
        {"levels": [0, 0, 0], "texts": ["3", "0.1", "9" * 101], "method": "greedy"},
        {"levels": [0, 0, 0], "texts": ["3", "0.1", "2"], "method": "<b>"},
    ],
)  # fmt: skip
def test_nothing_that_is_sent_is_believed(asked: Any, exploration_of_people: Exploration) -> None:
    with pytest.raises(api.DuckanonError):
        exploration_of_people.figures(read_setting(asked, exploration_of_people.fields, exploration_of_people.census))


@pytest.fixture(scope="module")
def exploration_of_people(people_database: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    policy = tmp_path_factory.mktemp("explored") / "policy.toml"
    policy.write_text(PEOPLE, "utf-8")
    with exploring(policy, str(people_database)) as exploration:
        yield exploration


def must_agree(policy: Any, address: str, duckanon: Command, levels: tuple[int, ...]) -> None:
    with exploring(policy, address) as exploration:
        shown = shown_at(exploration, levels)
        assert len(exploration.sample(exploration.setting).rows) >= 2
        assert exploration.labels(exploration.setting, 3)
    node = ",".join(f"{name}={level}" for name, level in zip(("age", "zip", "sex"), levels, strict=True))
    told = duckanon("check", policy, "--levels", node, "--db", address, "--json").json
    must_be_those_of(shown.page, told, shown.told["holds"])


def test_of_a_table_on_postgres(people: Folder, postgres_database: PostgresDatabase, duckanon: Command) -> None:
    with opened(people.database) as connection:
        postgres_database.copy(connection, "people")
    for text in (FAR, FAR + '[search]\nwhere = "warehouse"\n'):
        must_agree(people.policy(text), postgres_database.address, duckanon, (3, 2, 0))


def test_of_a_table_on_spark(people: Folder, lake: Lake, duckanon: Command) -> None:
    with opened(people.database) as connection:
        lake.load("people", "FROM people", connection)
    must_agree(people.policy(FAR), lake.address, duckanon, (3, 2, 0))
    assert lake.tables() == {"people"}
