"""The release that stands in the policy's place already."""

from __future__ import annotations

from pathlib import Path

from duckanon.census.source import BoundSource
from duckanon.engine import Column, Engine, Relation, Warehouse, Workbench
from duckanon.engine.scratch import Scratch
from duckanon.engine.types import INTEGER, TEXT
from duckanon.errors import Fault, PolicyError, ReleaseError
from duckanon.policy import Policy, Release
from duckanon.query.names import folded
from duckanon.release.cluster_folder import folders_of
from duckanon.release.file import how_written, read_json, sidecar_of
from duckanon.release.folder import bound_release, mark_of_folder
from duckanon.release.mark import levels_in, made_by, policy_hash_in


def exists(policy: Policy, warehouse: Warehouse) -> bool:
    """Whether something stands in the policy's place; an empty folder is nothing."""
    if policy.release.is_relation:
        return warehouse.find(policy.release.to) is not None
    if policy.release.is_address:
        return folders_of(warehouse).holds_files(policy.release.to)
    path = policy.folder / policy.release.to
    return any(path.iterdir()) if path.is_dir() else path.exists()


def said_levels(policy: Policy, warehouse: Warehouse) -> dict[str, int]:
    """The levels that the release itself says it is of, where it says so."""
    mark = _mark(policy, warehouse)
    return levels_in(mark) if made_by(mark, policy) else {}


def says_policy(policy: Policy, warehouse: Warehouse) -> bool:
    """Whether what stands in the place was made by this policy as it is now."""
    return policy_hash_in(_mark(policy, warehouse)) == policy.hash


def is_ours(policy: Policy, warehouse: Warehouse) -> bool:
    """Whether what stands in the policy's place says that this policy made it."""
    return made_by(_mark(policy, warehouse), policy)


def _mark(policy: Policy, warehouse: Warehouse) -> str | None:
    """What the release says of itself."""
    path = (policy.folder / policy.release.to).absolute()
    if policy.release.is_relation:
        found = warehouse.find(policy.release.to)
        return found.comment if found else None
    if policy.release.is_address:
        return folders_of(warehouse).mark(policy.release.to)
    if policy.release.options.partition_by:
        return mark_of_folder(path)
    if policy.release.kind == "parquet":
        return warehouse.workbench.files.mark(path)
    mark: str | None = read_json(sidecar_of(path)).get("mark")
    return mark


def existing_release(policy: Policy, source: BoundSource, scratch: Scratch) -> Relation:
    warehouse = source.warehouse
    if policy.release.is_relation:
        found = warehouse.find(policy.release.to)
        if found is None:
            raise ReleaseError(
                f"release.to: there is no {policy.release.kind} '{policy.release.to}' yet; run the policy first"
            )
        return found
    if policy.release.is_address:
        folders_of(warehouse)
        raise ReleaseError(f"release.to: {policy.release.to} is a folder of the cluster's, which is not read back")
    path = (policy.folder / policy.release.to).absolute()
    release = bound_release(policy, source)
    what = "folder" if release.options.partition_by else "file"
    if not (path.is_dir() if what == "folder" else path.is_file()):
        raise ReleaseError(f"release.to: there is no {what} {path} yet; run the policy first")
    written = read_json(sidecar_of(path)).get("written")
    if release.kind == "csv" and written not in (None, how_written(release, source.released)):
        raise ReleaseError(f"release.to: {path} was written with other options than the policy has now")
    name = scratch.adopt("VIEW", "released")
    warehouse.workbench.files.define(name, path, release, _columns(path, release, source, warehouse.workbench))
    return Relation((name.name,), "view")


def _columns(path: Path, release: Release, source: BoundSource, workbench: Workbench) -> list[Column]:
    """The columns of released files: labels are texts, the others have the types that were released. What the files
    do not name is known by its position."""
    parts = release.options.partition_by
    names = workbench.files.columns(path, release)
    if release.kind == "csv" and not release.options.header:
        expected = [name for name in source.released if name not in parts]
        if len(names) != len(expected):
            raise ReleaseError(f"release.to: {path} has {len(names)} columns, the policy releases {len(expected)}")
        names = expected
    types = {c.name: c.type.released for c in source.keep}
    types |= {c.name: INTEGER if wanted.publish == "level" else c.type.released for wanted, c in source.sensitive}
    return [Column(name, types.get(name, TEXT)) for name in (*names, *parts)]


def home_of_release(policy: Policy, warehouse: Warehouse) -> Engine:
    """Where a release of the policy can be asked: a table or view where it stands, files from the workbench."""
    return warehouse if policy.release.is_relation else warehouse.workbench


def must_have_its_columns(policy: Policy, relation: Relation, source: BoundSource) -> None:
    home = home_of_release(policy, source.warehouse)
    found = {folded(c.name) for c in home.columns(relation.table)}
    wanted = {folded(name) for name in source.released}
    faults = [Fault(f"release.to: {policy.release.to}", f"has no column {name}") for name in sorted(wanted - found)]
    faults += [
        Fault(f"release.to: {policy.release.to}", f"has a column {name} that the policy does not release")
        for name in sorted(found - wanted)
    ]
    if faults:
        raise PolicyError(faults, policy.file)
