"""The policies that the benchmark runs."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from bench.people import SENSITIVE, Data


@dataclass(frozen=True)
class Wanted:
    """What differs between the policies."""

    method: str = "greedy"
    k: int = 5
    suppression: float = 0.02
    time_limit: float | None = None
    kind: str = "parquet"
    partition_by: str | None = None
    entity: str | None = None
    where: str = "workbench"  # the lattice is walked
    loss: str = "ncp"
    rules: str = ""  # on the occupation

    def by(self, method: str) -> Wanted:
        return replace(self, method=method)


def policy(data: Data, folder: Path, wanted: Wanted) -> Path:
    """A policy that releases the quasi-identifiers and the occupation of `data` to a file in the folder."""
    counted = "_people" if wanted.entity else ""
    path = folder / f"{data.file.stem}_{len(data.names)}_{wanted.method}{counted}.toml"
    to = path.with_suffix("" if wanted.partition_by else f".{wanted.kind}").name
    path.write_text(written(data, wanted, to), encoding="utf-8")
    return path


def written(data: Data, wanted: Wanted, to: str = "released.parquet") -> str:
    limit = f"time_limit = {wanted.time_limit}" if wanted.time_limit else ""
    lines = [
        'name = "bench"',
        f"[source]\n{_source(data)}",
        f"[privacy]\nk = {wanted.k}\nsuppression = {wanted.suppression}",
        f"entity = {json.dumps(wanted.entity)}" if wanted.entity else "",
        f"[search]\nmethod = {json.dumps(wanted.method)}\nloss = {json.dumps(wanted.loss)}",
        f"where = {json.dumps(wanted.where)}\n{limit}",
        f"[release]\nkind = {json.dumps(wanted.kind)}\nto = {json.dumps(to)}",
        f"partition_by = {json.dumps([wanted.partition_by])}" if wanted.partition_by else "",
        f"[columns]\nidentifiers = {json.dumps(data.others)}\nkeep = {json.dumps(data.kept)}",
        f"[sensitive.{SENSITIVE}]\n{wanted.rules}",
        *(_section(name, hierarchy) for name, hierarchy in data.hierarchies.items()),
    ]
    return "\n".join(lines) + "\n"


def _source(data: Data) -> str:
    file = json.dumps(str(data.file.absolute()))
    return f'table = "people"\ndatabase = {file}' if data.file.suffix == ".duckdb" else f"file = {file}"


def _section(name: str, hierarchy: str | None) -> str:
    return f"[quasi_identifiers.{name}]" + (f"\nhierarchy = {hierarchy}" if hierarchy else "")
