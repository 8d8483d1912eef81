"""What a policy asks of the sizes of classes, whatever is in them."""

from __future__ import annotations

from typing import Any

from duckanon.models.k_anonymity import MODEL as K_ANONYMITY
from duckanon.models.registry import size_models, sizes_asked
from duckanon.policy.database import ServerAddress
from duckanon.policy.schema import Policy
from duckanon.toml import Section


def read_sizes(privacy: Section, default: int | None) -> tuple[int, dict[str, Any]]:
    """k, which has a `default` or must be there, and the thresholds of other models. Some of these can do without k."""
    alone = any(model.stands_alone and model.key.name in privacy.data for model in size_models())
    k = K_ANONYMITY.read(privacy, default or (1 if alone else None))
    thresholds: dict[str, Any] = {}
    for model in size_models():
        before = len(privacy.faults)
        threshold = model.key.read(privacy)
        if threshold is not None and len(privacy.faults) == before:
            model.must_fit(threshold, privacy)
            thresholds[model.key.name] = threshold
    return k, thresholds


def sizes_can(policy: Policy, top: Section) -> None:
    """What the models of class sizes go with."""
    for model, _ in sizes_asked(policy.thresholds):
        where = f"privacy.{model.key.name}"
        if model.needs_population and not policy.counts_population:
            what = "counts the rows of the population that a label covers, and there are none"
            top.fault(where, what, 'name its table: [population] table = "…"')
        if policy.search.is_local and policy.search.method not in model.local_methods:
            why = "whose labels are of differing levels" if model.needs_population else "which sees to each class alone"
            what = f"does not go with {policy.search.method}, {why}"
            usable = ("greedy", "optimal", "datafly", *model.local_methods)
            top.fault(where, what, f"use {', '.join(usable[:-1])} or {usable[-1]}")
        if policy.search.is_local and policy.release.kind == "view" and model.needs_population:
            what = f"a view of {policy.search.method} cannot count the population that {where} asks for"
            top.fault("release.kind", what, "release a table or a file, or use greedy, optimal or datafly")
        if policy.entity is not None and not model.counts_people:
            top.fault("privacy.entity", f"does not go with {where}, which counts rows", "leave one of them out")
    if not policy.counts_population:
        return
    for wanted in policy.quasi_identifiers:
        if wanted.release_as != "label":
            what = f"{wanted.release_as} does not go with a population: a number does not tell whom it covers"
            top.fault(f"quasi_identifiers.{wanted.column}.release_as", what, "leave one of them out")
    if policy.search.where == "warehouse":
        what = '"warehouse" does not go with a population, which is counted on the workbench'
        top.fault("search.where", what, "leave one of them out")
    if policy.population and policy.population.file and isinstance(policy.source.database, ServerAddress):
        top.fault("population.file", "is read by DuckDB, not by a server", "make a table of it there, and name that")
    if policy.release.kind == "view" and policy.population and policy.population.table is None:
        what = "a view counts the population as it is, so it must be a table or view"
        top.fault("population", what, 'name it: [population] table = "…"')
