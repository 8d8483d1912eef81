"""Local recoding from the command line: release, verification, views and what is said of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import pytest

from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.local_people import METHODS, TARGETS, policy
from tests.support.people import PEOPLE


def released(folder: Folder, kind: str) -> list[tuple[Any, ...]]:
    place = "out" if kind in ("table", "view") else f"'{folder.path}/{TARGETS[kind]}'"
    return folder.sql(f"SELECT age::VARCHAR, zip::VARCHAR, sex, disease FROM {place}")


def contains(label: str, value: object) -> bool:
    """Whether a released label is true of a raw value."""
    if label == "*" or label == str(value) or set(label) == {"*"}:
        return True
    if label.startswith("["):
        low, high = label.strip("[)").split(",")
        return int(low) <= int(str(value)) < int(high)
    return label.endswith("*") and str(value).startswith(label.rstrip("*"))


# Every method into a table, and every other kind of release by one of them.
RELEASES = [(method, "table") for method in METHODS]
RELEASES += [("climb", "view"), ("alpha_k_clustering", "parquet"), ("l_c_clustering", "csv")]


@pytest.mark.parametrize(("method", "kind"), RELEASES)
def test_every_class_holds_and_says_the_truth(people: Folder, duckanon: Command, method: str, kind: str) -> None:
    told = duckanon("run", people.policy(policy(method, kind)), "--json")
    assert told.code == 0, told.err
    result = told.json
    rows = released(people, kind)
    assert len(rows) == result["rows"]["released"] >= 180
    classes: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for *labels, disease in rows:
        classes[tuple(labels)].append(disease)
    assert len(classes) == result["classes"]
    for diseases in classes.values():
        assert len(diseases) >= 3
        assert method != "climb" or len(set(diseases)) >= 2
        if method in ("alpha_k_clustering", "l_c_clustering"):
            assert max(Counter(diseases).values()) <= 0.7 * len(diseases)
        if method == "alpha_k_clustering":
            assert diseases.count("HIV") <= 0.5 * len(diseases)
        if method == "l_c_clustering" and "HIV" in diseases:
            assert len(set(diseases)) >= 3
    # Every released row can be the image of a row of the source, and no disease is lost but for suppressed rows.
    source = people.sql("SELECT age, zip, sex, disease FROM people")
    for *labels, disease in set(rows):
        assert any(
            disease == raw[3] and all(contains(label, value) for label, value in zip(labels, raw, strict=False))
            for raw in source
        )
    assert not Counter(row[3] for row in rows) - Counter(row[3] for row in source)


@pytest.mark.parametrize("method", METHODS)
def test_what_the_result_says(people: Folder, duckanon: Command, method: str) -> None:
    path = people.policy(policy(method))
    result = duckanon("run", path, "--json").json
    assert result["levels"] is None
    combinations = result["classes_by_levels"]
    assert sum(part["rows"] for part in combinations) == result["rows"]["released"]
    assert sum(part["classes"] for part in combinations) == result["classes"]
    assert all(set(part["levels"]) == {"age", "zip", "sex"} for part in combinations)
    assert 0 <= result["utility"]["ncp"] <= 1
    assert result["utility"]["distortion"] >= 0
    assert result["utility"]["total_information_loss"] >= 0
    if method == "climb":
        assert "every class at its own levels" in duckanon("run", path, "--dry-run").out
    checked = duckanon("check", path, "--release", "--json")
    assert checked.code == 0, checked.out + checked.err
    assert checked.json["classes"] == result["classes"]
    assert checked.json["utility"]["ncp"] == pytest.approx(result["utility"]["ncp"])
    assert checked.json["utility"]["precision"] == pytest.approx(result["utility"]["precision"])


def test_climbing_loses_less_than_the_best_single_node(people: Folder, duckanon: Command) -> None:
    local = duckanon("run", people.policy(policy("climb", suppression="0")), "--json").json
    text = policy("climb", suppression="0").replace('method = "climb"', 'method = "optimal"')
    best = duckanon("run", people.policy(text.replace('to = "out"', 'to = "best"')), "--json").json
    assert local["status"] == best["status"] == "released"
    assert local["rows"]["suppressed"] == 0
    assert local["utility"]["ncp"] < best["utility"]["ncp"]


@pytest.mark.parametrize("method", ["climb", "l_c_clustering"])
def test_a_view_guards_itself(people: Folder, duckanon: Command, method: str) -> None:
    assert duckanon("run", people.policy(policy(method, "view"))).code == 0
    before = len(released(people, "view"))
    people.sql("INSERT INTO people VALUES ('new', 22, '02199', 'X', 'HIV')")  # a tuple that was not placed
    assert len(released(people, "view")) == before
    people.sql("DELETE FROM people WHERE name LIKE '%1' OR name LIKE '%4' OR name LIKE '%7'")
    sizes = Counter(row[:3] for row in released(people, "view"))
    assert sizes
    assert min(sizes.values()) >= 3


def test_the_same_input_gives_the_same_output(people: Folder, duckanon: Command) -> None:
    for method in ("climb", "alpha_k_clustering"):  # the other clusterings take the same steps
        found = []
        for threads in (1, 2):
            text = policy(method, "csv").replace("out.csv", f"{method}{threads}.csv")
            assert duckanon("run", people.policy(text), "--threads", str(threads)).code == 0
            found.append((people.path / f"{method}{threads}.csv").read_bytes())
        assert found[0] == found[1]


def test_what_no_recoding_can_hold_is_said(people: Folder, duckanon: Command) -> None:
    for method in METHODS:
        text = policy(method, suppression="0").replace("k = 3", "k = 201")
        told = duckanon("run", people.policy(text), "--json")
        assert (told.code, told.json["status"]) == (1, "infeasible")
        assert "k" in " ".join(told.json["reasons"])


def test_clusterings_refuse_what_they_cannot_reach(people: Folder, duckanon: Command) -> None:
    for method in METHODS:
        text = policy(method).replace("[sensitive.disease]\n", "[sensitive.disease]\nalp = 0.9\n")
        told = duckanon("run", people.policy(text))
        assert told.code == (0 if method == "climb" else 2)
        assert method == "climb" or "cannot reach alp and dif" in told.err


def test_levels_need_levels(people: Folder, duckanon: Command) -> None:
    """Without them it would be another method."""
    text = PEOPLE + '[search]\nmethod = "alpha_l_diversification"\n'
    told = duckanon("run", people.policy(text))
    assert told.code == 2
    assert "alpha_l_diversification needs levels" in told.err


def test_a_released_column_is_rolled_up_by_its_hierarchy(people: Folder, duckanon: Command) -> None:
    path = people.policy(policy("climb"))
    assert duckanon("run", path).code == 0
    told = duckanon("hierarchy", path, "age", "--csv")
    assert told.out.splitlines()[:2] == [
        "level_0,level_1,level_2,level_3,level_4",
        '20,"[20, 25)","[20, 30)","[20, 40)",*',
    ]
    (people.path / "age.csv").write_text(told.out, encoding="utf-8")
    assert duckanon("install", people.database).code == 0
    rolled = people.sql(
        f"CREATE VIEW age AS FROM read_csv('{people.path}/age.csv', all_varchar = true)",
        "SELECT rolled_up, count(*) FROM duckanon.roll_up('out', 'age', 'age', 3) GROUP BY ALL ORDER BY ALL",
    )
    assert {label for label, _ in rolled} <= {"[20, 40)", "[40, 60)", "*"}
    assert sum(count for _, count in rolled) == len(released(people, "table"))
    assert duckanon("hierarchy", path, "--csv").code == 2


def test_the_sql_of_a_local_release_at_given_levels(people: Folder, duckanon: Command) -> None:
    assert "levels age=1" in duckanon("sql", people.policy(policy("climb")), "--levels", "age=1").out
