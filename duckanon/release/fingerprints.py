"""What a release was made from, in three hashes: the policy, its hierarchies, its source."""

from __future__ import annotations

import hashlib
import hmac
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlglot import exp

from duckanon.census.population import BoundPopulation
from duckanon.census.source import BoundSource
from duckanon.engine import Column, Relation, Warehouse
from duckanon.engine.types import Family
from duckanon.policy import MappingFile, MappingTable, Policy
from duckanon.policy.canonical import canonical, digest_of
from duckanon.query.counts import RowCounts
from duckanon.query.expressions import column, sql, text_of
from duckanon.query.functions import row_hash, wide
from duckanon.query.names import folded


@dataclass(frozen=True)
class Fingerprints:
    """Equal fingerprints: the release would come out the same."""

    policy: str
    hierarchies: str | None
    source: str | None


def take_fingerprints(
    policy: Policy, source: BoundSource, warehouse: Warehouse, counts: RowCounts | None = None
) -> Fingerprints:
    """Where the rows of the source are counted already, they need not be read again."""
    of_source = source_fingerprint(policy, source.table, warehouse, counts, source.population)
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
    counts: RowCounts | None = None,
    population: BoundPopulation | None = None,
) -> str:
    """Of the source's columns and rows, of the key that its pseudonyms are made with, and of what is counted of its
    population."""
    key = os.environ.get(policy.pseudonyms.key_env, "") if policy.pseudonyms else ""
    keyed = hmac.new(key.encode(), b"duckanon ledger", "sha256").hexdigest() if key else None
    told = [_rows(source, warehouse.columns(source), warehouse, counts), keyed]
    told += [_rows(population.table, list(population.columns), warehouse)] if population else []
    return digest_of(told)


def relation_fingerprint(relation: Relation, warehouse: Warehouse, counts: RowCounts | None = None) -> str:
    """Of the rows that a relation shows and, of a view, of how it shows them."""
    shown = _rows(relation.table, warehouse.columns(relation.table), warehouse, counts)
    return digest_of([shown, warehouse.definition(relation)])


def files_fingerprint(path: Path) -> str:
    """Of the bytes of a file or, of a folder, of all its files that are not hidden."""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    shown = [file for file in files if not file.name.startswith(".") or file == path]
    return digest_of([[file.relative_to(path).as_posix(), _contents_of(file)] for file in shown])


def _rows(
    relation: exp.Table, columns: list[Column], warehouse: Warehouse, counts: RowCounts | None = None
) -> list[Any]:
    """One statement; sums and XORs of row hashes are the same in any order, and count a row that is there twice. Those
    of counts are the same as those of the rows, if all columns are in them."""
    if counts is not None and all(c.name in counts.names for c in columns):
        query = _of_counts(columns, counts)
    else:
        row = row_hash(_hashable(c, c.name) for c in columns).as_("h")
        figures = exp.select("COUNT(*)", sql("SUM(:h)", h=wide(column("h"))), exp.BitwiseXorAgg(this=column("h")))
        query = figures.from_(exp.select(row).from_(relation).subquery("hashed"))
    (found,) = warehouse.fetch(query, "the fingerprint")
    return [[[c.name, c.type.word] for c in columns], *(None if figure is None else str(figure) for figure in found)]


def _of_counts(columns: list[Column], counts: RowCounts) -> exp.Select:
    """A hash that is there an even number of times leaves nothing in an XOR."""
    row = row_hash(_hashable(c, counts.names[c.name]) for c in columns).as_("h")
    odd = exp.BitwiseXorAgg(this=sql("CASE WHEN n % 2 = 1 THEN h END"))
    figures = exp.select(
        sql("CAST(SUM(n) AS BIGINT)"), sql("SUM(:h * n)", h=wide(column("h"))), sql("COALESCE(:odd, 0)", odd=odd)
    )
    return figures.from_(exp.select(row, column(counts.copies).as_("n")).from_(counts.table).subquery("hashed"))


def _hashable(c: Column, name: str) -> exp.Expr:
    """The cells of a column, under the name that it has there. Of a list the hash does not tell NULL from an empty one,
    and of some types there is none; their texts do."""
    texts = c.type.is_list or (c.type.family is Family.OTHER and c.type.released != c.type)
    return text_of(column(name)) if texts else column(name)


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
