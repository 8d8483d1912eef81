"""The list of models: whole, in order, and every threshold of a policy somebody's."""

from __future__ import annotations

from dataclasses import replace

import duckdb
import pytest

import duckanon
from duckanon import Policy, PolicyError
from duckanon.models import ClassModel, Constraint, TableModel, registry
from duckanon.models.registry import asked, column_keys, column_models, every_model, value_keys
from duckanon.policy import Sensitive, ValueThresholds

FULL = """
name = "full"
[source]
table = "people"
[privacy]
k = 2
[quasi_identifiers.age]
[sensitive.disease]
l = 2
entropy_l = 1.0
recursive = { c = 9.0, l = 2 }
t = 0.9
beta = 9.0
enhanced_beta = 9.0
delta = { threshold = 9.0, present_only = true }
alpha = 0.9
alp = 0.9
dif = 0.9
levels = { 1 = ["flu"], 2 = ["cough"], 3 = ["HIV"] }
level_alpha = { 2 = 0.9, 1 = 0.8 }
level_l = 1
level_weight = 0
[sensitive.disease.values.flu]
delta = 8
alpha = 0.8
l = 2
[sensitive.disease.values.HIV]
beta = 8
enhanced_beta = 8
alp = 0.8
dif = 0.8
alpha = 0.8
[sensitive.wage]
proximity = { epsilon = 0, m = 1 }
[release]
kind = "table"
to = "released"
"""


def test_the_models_that_there_are() -> None:
    """In the order in which their constraints are told, but for those of the whole table, which come last."""
    names = [
        "k",
        "k_map",
        "presence",
        "average_risk",
        "rows_at_risk",
        "distinct_l",
        "entropy_l",
        "recursive",
        "value_l",
        "t",
        "beta",
        "enhanced_beta",
        "delta",
        "alpha",
        "alp",
        "dif",
    ]
    assert [model.name for model in every_model()] == [*names, "level_l", "level_alpha", "level_weight", "proximity"]


def test_no_two_models_claim_one_key() -> None:
    for keys in ([key.name for _, key in column_keys()], [key.name for _, key in value_keys()]):
        assert len(keys) == len(set(keys))


def test_the_order_of_constraints() -> None:
    disease, wage = Policy.parse(FULL).sensitive
    assert [(c.name, c.value, c.threshold) for _, c in asked(disease)] == [
        ("distinct_l", None, 2),
        ("entropy_l", None, 1.0),
        ("recursive", None, 9.0),
        ("value_l", "flu", 2),
        ("t", None, 0.9),
        ("beta", "HIV", 8.0),
        ("beta", None, 9.0),
        ("enhanced_beta", "HIV", 8.0),
        ("enhanced_beta", None, 9.0),
        ("delta", "flu", 8.0),
        ("delta", None, 9.0),
        ("alpha", "flu", 0.8),
        ("alpha", "HIV", 0.8),
        ("alpha", None, 0.9),
        ("level_l", None, 1),
        ("level_alpha", "2", 0.9),
        ("level_alpha", "1", 0.8),
        ("level_weight", None, 0),
        ("alp", "HIV", 0.8),
        ("alp", None, 0.9),
        ("dif", "HIV", 0.8),
        ("dif", None, 0.9),
    ]
    assert [constraint for _, constraint in asked(wage)] == [Constraint("proximity", "wage", None, 1.0)]


def test_what_may_be_concluded_is_said_of_each_model() -> None:
    """models.md, §1 and §7: what merging breaks, and what nothing that joins can break."""
    growing = ["distinct_l", "level_l", "level_weight"]
    of_classes = [model for model in column_models() if isinstance(model, ClassModel)]
    assert [model.name for model in of_classes if not model.monotone] == ["proximity"]
    assert [model.name for model in of_classes if model.closed_under_growing] == growing
    assert all(model.monotone for model in of_classes if model.closed_under_growing)
    assert all(model.best_at_top for model in column_models() if isinstance(model, TableModel))


@pytest.fixture
def people() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE people AS SELECT i % 2 AS age, ['flu', 'cough', 'HIV'][1 + i % 3] AS disease, i AS wage "
        "FROM range(60) r (i)"
    )
    return connection


def with_threshold(policy: Policy, sensitive: Sensitive) -> Policy:
    return replace(policy, sensitive=(sensitive, *policy.sensitive[1:]))


def test_a_threshold_that_no_model_claims_stops_a_run(people: duckdb.DuckDBPyConnection) -> None:
    policy = Policy.parse(FULL)
    disease, _ = policy.sensitive
    of_column = replace(disease, thresholds={**disease.thresholds, "gamma": 0.5})
    of_value = replace(disease, values={**disease.values, "HIV": ValueThresholds({"t": 0.5})})
    for wanted, where in ((of_column, "sensitive.disease.gamma"), (of_value, "sensitive.disease.values.HIV.t")):
        with pytest.raises(PolicyError, match="no privacy model knows it") as stopped:
            duckanon.run(with_threshold(policy, wanted), people)
        assert [fault.where for fault in stopped.value.faults] == [where]
        with pytest.raises(PolicyError, match="no privacy model knows it"):
            duckanon.check(with_threshold(policy, wanted), people)
    assert people.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("people",)]


def test_the_verification_asks_by_the_policy_and_not_by_the_rules_of_the_search(
    people: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = Policy.parse(FULL.replace("l = 2\nentropy_l", "l = 3\nentropy_l"))
    assert duckanon.run(policy, people).status == "released"
    people.execute("DROP TABLE released")
    people.execute("UPDATE people SET disease = 'flu' WHERE age = 0 AND disease = 'HIV'")
    # A search that has forgotten all rules finds a release at once. It is not verified, so there is none.
    monkeypatch.setattr("duckanon.search.measure.class_rules", lambda wanted, numeric: ())
    result = duckanon.run(policy, people)
    assert result.status == "violated"
    assert [f.constraint.name for f in result.constraints if not f.holds] == ["distinct_l"]
    assert people.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'").fetchall() == [
        ("people",)
    ]


def test_a_threshold_whose_model_is_gone_is_not_verified_in_silence(
    people: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = Policy.parse(FULL)
    left = tuple(model for model in registry.column_models() if model.name != "alpha")
    monkeypatch.setattr(registry, "column_models", lambda: left)
    with pytest.raises(PolicyError) as stopped:
        duckanon.run(policy, people)
    assert [fault.where for fault in stopped.value.faults] == [
        "sensitive.disease.alpha",
        "sensitive.disease.values.flu.alpha",
        "sensitive.disease.values.HIV.alpha",
    ]


@pytest.mark.parametrize(
    ("c", "status", "kind"),
    [("9.0", "released", "table"), ("9.0", "released", "view"), ("0.4", "infeasible", "table")],
)
def test_thresholds_in_a_table_give_the_same_result(
    people: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, c: str, status: str, kind: str
) -> None:
    """Where nothing can hold, it says of each threshold what was measured; and so does a check of a node."""
    policy = Policy.parse(FULL.replace("c = 9.0", f"c = {c}").replace('kind = "table"', f'kind = "{kind}"'))

    def told() -> list[object]:
        result = duckanon.run(policy, people)
        rows = people.execute("FROM released ORDER BY ALL").fetchall() if result.status == "released" else []
        people.execute(f"DROP {kind} IF EXISTS released")
        return [result.status, result.constraints, rows, duckanon.check(policy, people, levels={"age": 0}).constraints]

    each = told()
    assert each[0] == status
    monkeypatch.setattr(registry, "MOST_OWN", 0)
    assert told() == each
