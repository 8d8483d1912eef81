"""What a release was made from, in three hashes: the policy, its hierarchies, its source."""

from __future__ import annotations

import hashlib
import hmac
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlglot import exp

from duckanon.census.hashes import RowHashes, hashes_of_counts, hashes_of_rows
from duckanon.census.population import BoundPopulation
from duckanon.census.source import BoundSource
from duckanon.engine import Column, Engine, Relation, Warehouse
from duckanon.policy import MappingFile, MappingTable, Policy
from duckanon.policy.canonical import canonical, digest_of
from duckanon.query.counts import RowCounts
from duckanon.query.names import folded


@dataclass(frozen=True)
class Fingerprints:
    """Equal fingerprints: the release would come out the same."""

    policy: str
    hierarchies: str | None
    source: str | None


def take_fingerprints(
    policy: Policy, source: BoundSource, warehouse: Warehouse, hashes: RowHashes | None = None
) -> Fingerprints:
    """Where the hashes of the source's rows came with their counts, they need not be read again."""
    of_source = source_fingerprint(policy, source.table, warehouse, hashes, source.population)
    return Fingerprints(policy.hash, hierarchy_hash(policy, warehouse), of_source)


def hierarchy_hash(policy: Policy, warehouse: Warehouse) -> str:
    """Of what the hierarchies say now: files and mapping tables by their contents, the others by their parameters."""
    said: list[Any] = []
    for quasi_identifier in policy.quasi_identifiers:
        spec = quasi_identifier.hierarchy
        if isinstance(spec, MappingFile):
            said.append(_contents(spec.path))
        elif isinstance(spec, MappingTable):
            said.append(_mapping(spec, warehouse))
        else:
            said.append(canonical(spec, policy.folder))
    return digest_of(said)


def source_fingerprint(
    policy: Policy,
    source: exp.Table,
    warehouse: Warehouse,
    hashes: RowHashes | None = None,
    population: BoundPopulation | None = None,
) -> str:
    """Of the source's columns and rows, of the key that its pseudonyms are made with, and of what is counted of its
    population."""
    key = os.environ.get(policy.pseudonyms.key_env, "") if policy.pseudonyms else ""
    keyed = hmac.new(key.encode(), b"duckanon ledger", "sha256").hexdigest() if key else None
    told = [_rows(source, warehouse.columns(source), warehouse, hashes), keyed]
    told += [_rows(population.table, list(population.columns), warehouse)] if population else []
    return digest_of(told)


def relation_fingerprint(
    relation: Relation, warehouse: Warehouse, counts: RowCounts | None = None, counted: Engine | None = None
) -> str:
    """Of the rows that a relation shows and, of a view, of how it shows them. Where its rows are `counted` by that
    engine, they need not be read again, if the hashes of the warehouse are known there."""
    columns, known = warehouse.columns(relation.table), None
    if counts is not None and counted is not None and (counts.hashes or counted is warehouse):
        known = hashes_of_counts(columns, counts, counted)
    shown = _rows(relation.table, columns, warehouse, known)
    return digest_of([shown, warehouse.definition(relation)])


def files_fingerprint(path: Path) -> str:
    """Of the bytes of a file or, of a folder, of all its files that are not hidden."""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    shown = [file for file in files if not file.name.startswith(".") or file == path]
    return digest_of([[file.relative_to(path).as_posix(), _contents_of(file)] for file in shown])


def _rows(
    relation: exp.Table, columns: list[Column], warehouse: Warehouse, known: RowHashes | None = None
) -> list[Any]:
    """What is told of rows, which are read unless their hashes are known."""
    found = known or hashes_of_rows(relation, columns, warehouse)
    figures = (found.rows, found.total, found.odd)
    return [[[c.name, c.type.word] for c in columns], *(None if figure is None else str(figure) for figure in figures)]


def _mapping(spec: MappingTable, warehouse: Warehouse) -> list[Any] | None:
    """None: the table or a column of it is not there, which the run itself will say."""
    found = warehouse.find(spec.table)
    known = {folded(c.name): c for c in warehouse.columns(found.table)} if found else {}
    if found is None or any(folded(name) not in known for name in spec.columns):
        return None
    return _rows(found.table, [known[folded(name)] for name in spec.columns], warehouse)


def _contents(path: Path) -> str | None:
    """None: it cannot be read, which the run itself will say."""
    try:
        return _contents_of(path) if path.is_file() else None
    except OSError:
        return None


def _contents_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
