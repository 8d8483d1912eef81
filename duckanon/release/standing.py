"""Whether what stands, and what it was made of, is what it was when a run ended."""

from __future__ import annotations

from contextlib import suppress

from duckanon.census.source import bind_source
from duckanon.engine import Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.errors import EngineError
from duckanon.policy import Policy
from duckanon.release.fingerprints import (
    files_fingerprint,
    hierarchy_hash,
    relation_fingerprint,
    source_fingerprint,
)


def standing_fingerprint(policy: Policy, warehouse: Warehouse) -> str | None:
    """Of what stands in the policy's place; None: nothing that can be read."""
    with suppress(OSError, EngineError):
        if policy.release.is_relation:
            found = warehouse.find(policy.release.to)
            return relation_fingerprint(found, warehouse) if found else None
        if not policy.release.is_address:
            return files_fingerprint((policy.folder / policy.release.to).resolve())
    return None


def made_of_this_source(policy: Policy, warehouse: Warehouse, source: str | None, hierarchies: str | None) -> bool:
    """Whether source and hierarchies have the fingerprints that they had then."""
    if source is None or hierarchy_hash(policy, warehouse) != hierarchies:
        return False
    scratch = Scratch(warehouse.workbench)
    try:
        bound = bind_source(policy, warehouse, scratch)
        return source_fingerprint(policy, bound.table, warehouse, population=bound.population) == source
    finally:
        scratch.clear()
