"""A hierarchy for one column of an existing policy, also where the one that it has does not fit."""

from __future__ import annotations

from dataclasses import replace

from duckanon.census.source import define_source
from duckanon.engine import Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.errors import Fault, HierarchyError, UsageError
from duckanon.policy import Policy
from duckanon.proposal.columns import profile_columns
from duckanon.proposal.hierarchies import propose_hierarchy
from duckanon.proposal.listed import to_fill_in
from duckanon.query.names import folded
from duckanon.toml.writing import dotted


def proposed_for(policy: Policy, warehouse: Warehouse, name: str) -> str:
    """A hierarchy file; or, where labels can be computed, the lines of the policy that say how."""
    scratch = Scratch(warehouse.workbench)
    try:
        relation = define_source(policy, warehouse, scratch)
        columns = warehouse.columns(relation.table)
        found = [replace(c, written=c.name in relation.written) for c in columns if folded(c.name) == folded(name)]
        if not found:
            there = ", ".join(q.column for q in policy.quasi_identifiers)
            raise UsageError([Fault("COLUMN", f"the source has no '{name}'", f"quasi-identifiers are {there}")])
        if not found[0].type.comparable or found[0].type.is_nested:
            raise HierarchyError([Fault(name, f"is of type {found[0].type}", "cast it in source.query")])
        _, profiles = profile_columns(relation, found, policy.k, warehouse, scratch)
    finally:
        scratch.clear()
    if not profiles or not profiles[0].distinct:
        raise HierarchyError([Fault(name, "has no value at all", "list it under columns.drop")])
    proposed = propose_hierarchy(profiles[0], policy.k)
    if proposed.spec:
        said = f"hierarchy = {proposed.toml}  # {proposed.why}"
        return f"[quasi_identifiers.{dotted((profiles[0].name,))}]\n{said}"
    listed = proposed.file or to_fill_in(profiles[0])
    if listed is None:
        what = f"no value is shared by {policy.k} rows, and none is shown that fewer share"
        raise HierarchyError([Fault(name, what, "list it under columns.identifiers or columns.drop")])
    return listed.text.rstrip("\n")
