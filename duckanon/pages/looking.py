"""A look at what a ledger does not keep: how large classes are, and which labels a release shows. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlglot import exp

from duckanon.audit import People, Rows
from duckanon.audit.check import source_as_released
from duckanon.census.source import BoundSource, bind_source
from duckanon.engine import Engine, Relation, Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.policy import Policy
from duckanon.query.expressions import column, sql
from duckanon.query.names import folded
from duckanon.release.existing import existing_release, home_of_release, must_have_its_columns

Sizes = tuple[tuple[int, int], ...]  # of a class, in what is counted, and how many classes have it

_EXAMPLES = 3


@dataclass(frozen=True)
class Look:
    """None: it cannot be known any more. `labels`: the most frequent of each quasi-identifier, with their rows."""

    before: Sizes | None = None
    after: Sizes | None = None
    labels: dict[str, tuple[tuple[str | None, int], ...]] = field(default_factory=dict)


def look_at(policy: Policy, warehouse: Warehouse, source_is_same: bool) -> Look:
    """Look at the release that stands and, if it was made of it, at the source."""
    with _both(policy, warehouse) as (source, here, there):
        names = [c.name for _, c in source.quasi_identifiers]
        release = existing_release(policy, source, here)
        must_have_its_columns(policy, release, source)
        home = there if policy.release.is_relation else here
        return Look(
            before=_source_sizes(source, names, there) if source_is_same else None,
            # Whose the released rows are only the source can tell.
            after=None if source.entity else tuple(sorted(Rows(release, names, home).sizes)),
            labels={name: _labels(release, name, home_of_release(policy, warehouse)) for name in names},
        )


@contextmanager
def _both(policy: Policy, warehouse: Warehouse) -> Iterator[tuple[BoundSource, Scratch, Scratch]]:
    """The source, and scratches of the workbench and of the warehouse."""
    here = Scratch(warehouse.workbench)
    there = here if warehouse.is_workbench else Scratch(warehouse)
    try:
        yield bind_source(policy, warehouse, here), here, there
    finally:
        there.clear()
        here.clear()


def _source_sizes(source: BoundSource, names: list[str], there: Scratch) -> Sizes:
    relation = source_as_released(source, there)
    entity = source.entity
    rows = People(relation, names, there, entity.name) if entity else Rows(relation, names, there)
    return tuple(sorted(rows.sizes))


def _labels(release: Relation, name: str, home: Engine) -> tuple[tuple[str | None, int], ...]:
    types = {folded(c.name): c.type for c in home.columns(release.table)}
    label = types[folded(name)].text(column(name))
    counts = exp.select(label.as_("label"), sql("COUNT(*)").as_("n")).from_(release.table).group_by(label.copy())
    query = exp.select("label", "n").from_(counts.subquery("counts")).order_by("n DESC", "label").limit(_EXAMPLES)
    return tuple((text, int(rows)) for text, rows in home.fetch(query, "labels of the release"))
