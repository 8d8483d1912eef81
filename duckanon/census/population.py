"""The population: the people of whom the source is a sample, counted by the same quasi-identifiers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from duckanon.census.collations import HAS_COLLATION, collated
from duckanon.census.reading import reading_of
from duckanon.engine import Column, Relation, Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.engine.types import Family
from duckanon.engine.warehouse import Told
from duckanon.errors import Fault, SourceError
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.covering import labels_of
from duckanon.policy import Policy, Population
from duckanon.query.expressions import column, sql, text_of
from duckanon.query.names import folded
from duckanon.query.steps import select

# Values of these are equal if their texts are, whatever type of the family they are of.
_BY_FAMILY = (Family.WHOLE, Family.TEXT, Family.DATE, Family.BOOLEAN)


@dataclass(frozen=True)
class BoundPopulation:
    """The population as a relation that queries can name, and its quasi-identifiers in the policy's order."""

    warehouse: Warehouse
    relation: Relation
    columns: tuple[Column, ...]

    @property
    def table(self) -> exp.Table:
        return self.relation.table


@dataclass(frozen=True)
class CountedPopulation:
    """As it was counted, on the workbench.

    `cells` are coded as those of the census are, with codes of their own for what the source does not show: q{i}_{l}
    and m rows. `tuples` have the values, q0 … and m, of which `labels` have the texts: value, shown_0, …
    """

    cells: exp.Table
    tuples: exp.Table
    labels: tuple[exp.Table, ...]
    rows: int
    largest: tuple[int, ...]  # code of each hierarchy


def bind_population(
    policy: Policy, warehouse: Warehouse, scratch: Scratch, source: list[Column]
) -> BoundPopulation | None:
    """Find the population, which has every quasi-identifier as the source has it."""
    if policy.population is None or not policy.population.is_counted:
        return None
    relation = _define_population(policy, policy.population, warehouse, scratch)
    there = {folded(c.name): c for c in warehouse.columns(relation.table)}
    what = "there is no such column in the population"
    faults = [
        Fault(f"quasi_identifiers: {c.name}", what, "it has the columns of the source, by the same names")
        for c in source
        if folded(c.name) not in there
    ]
    if faults:
        raise SourceError(faults, policy.file)
    bound = BoundPopulation(warehouse, relation, tuple(there[folded(c.name)] for c in source))
    _must_be_like(bound, source, policy.file)
    remedy = "take the collation off in population.query: decode(encode(column))"
    texts = collated(bound.columns, relation, warehouse) if policy.population.file is None else []
    if texts:
        raise SourceError([Fault(f"population: {name}", HAS_COLLATION, remedy) for name in texts], policy.file)
    return bound


def _define_population(policy: Policy, wanted: Population, warehouse: Warehouse, scratch: Scratch) -> Relation:
    if wanted.table is not None:
        relation = warehouse.find(wanted.table)
        if relation is None:
            what = f"there is no table or view '{wanted.table}' in {warehouse.location}"
            raise SourceError([Fault("population.table", what, warehouse.nearest(wanted.table))], policy.file)
        return relation
    rows = scratch.adopt("TABLE", "population_rows", warehouse) if wanted.file is not None else None
    name = scratch.adopt("VIEW", "population_view", warehouse)
    if wanted.query is not None:
        warehouse.define_query(name, wanted.query, temporary=True)
    else:
        assert wanted.file is not None
        # A file of people is written as that of the source is; of other columns than these nothing is asked.
        asked = reading_of(replace(policy, sensitive=(), pseudonyms=None, entity=None))
        read = warehouse.define_file(name, wanted.file, asked, rows)
        what = "there are fields in the population that cannot be read as those of the source are"
        if read.misfits:
            raise SourceError(
                [Fault(f"population.file: {c}", what, "clean the file") for c in read.misfits], policy.file
            )
    return Relation(tuple(part.name for part in name.parts), "view")


def _must_be_like(bound: BoundPopulation, source: list[Column], file: str | None) -> None:
    """Whatever is the same there must look the same here."""
    faults = [
        Fault(f"population: {there.name}", f"is of type {there.type}, in the source of {c.type}", _CAST)
        for c, there in zip(source, bound.columns, strict=True)
        if not _alike(c, there)
    ]
    if faults:
        raise SourceError(faults, file)


_CAST = "cast it in population.query"


def _alike(one: Column, other: Column) -> bool:
    here, there = one.type.released, other.type.released
    same = here.word == there.word and here.scale == there.scale
    return same or (here.family is there.family and here.family in _BY_FAMILY)


def count_population(
    bound: BoundPopulation, values: list[exp.Expr], hierarchies: tuple[Hierarchy, ...], scratch: Scratch, told: Told
) -> CountedPopulation:
    """Count it in one scan, by the `values` of its quasi-identifiers, and code what is counted."""
    names = [f"q{index}" for index in range(len(values))]
    rows = exp.select(*(value.as_(name) for value, name in zip(values, names, strict=True))).from_(bound.table)
    scan = exp.select(*map(column, names), sql("COUNT(*)").as_("m")).from_(rows.subquery("population"))
    scan = scan.group_by(*map(column, names))
    note = "the population, counted in one scan"
    tuples = scratch.collected("population_tuples", scan, note, bound.warehouse, told)
    labels = tuple(_labels(h, tuples, scratch) for h in hierarchies)
    codes = {h.index: _codes(h, labels[h.index], scratch) for h in hierarchies if h.coded}
    cells = scratch.table("population", _cells(tuples, codes, hierarchies), "the population: codes of every level")
    ((count,),) = scratch.workbench.fetch(exp.select(sql("CAST(COALESCE(SUM(m), 0) AS BIGINT)")).from_(cells))
    largest = [_largest(h, codes, scratch) for h in hierarchies]
    return CountedPopulation(cells, tuples, labels, int(count), tuple(largest))


def _labels(hierarchy: Hierarchy, tuples: exp.Table, scratch: Scratch) -> exp.Table:
    index, name = hierarchy.index, hierarchy.column.name
    value = column(f"q{index}")
    domain = exp.select(value.as_("value")).distinct().from_(tuples).where(sql(":value IS NOT NULL", value=value))
    values = scratch.table(f"population_values_{index}", domain, f"values of {name} in the population")
    labelled = labels_of(hierarchy, values)
    return scratch.table(f"population_labels_{index}", labelled, f"labels of {name} in the population")


def _codes(hierarchy: Hierarchy, labels: exp.Table, scratch: Scratch) -> exp.Table:
    """value and code_l of every level that is counted: that of the label in the source, or one that no label there has.
    What has no label has one code of its own: so the codes of a level still follow from those of the one below."""
    query = exp.select(column("value", "data")).from_(exp.alias_(labels, "data", table=True))
    most = exp.select(sql("MAX(:code)", code=column(f"code_{hierarchy.lowest}"))).from_(hierarchy.mapping).subquery()
    for level in hierarchy.coded:
        alias, shown = f"level_{level}", column(f"shown_{level}", "data")
        label = text_of(column(hierarchy.label(level)))
        known = exp.select(label.as_("label"), column(f"code_{level}").as_("code")).distinct().from_(hierarchy.mapping)
        on = exp.EQ(this=shown, expression=column("label", alias))
        query = query.join(known.subquery(alias), on=on, join_type="left")
        own = sql(":most + DENSE_RANK() OVER (ORDER BY :shown)", most=most, shown=shown)
        query = query.select(sql("COALESCE(:known, :own)", known=column("code", alias), own=own).as_(f"code_{level}"))
    return scratch.table(f"population_codes_{hierarchy.index}", query, f"codes of {hierarchy.column.name}")


def _cells(tuples: exp.Table, codes: dict[int, exp.Table], hierarchies: tuple[Hierarchy, ...]) -> exp.Select:
    names = [h.code(level) for h in hierarchies for level in h.coded]
    query = exp.select(column("m", "tuples")).from_(exp.alias_(tuples, "tuples", table=True))
    for h in hierarchies:
        if not h.coded:
            continue
        alias = f"codes_{h.index}"
        # NULL is a value of its own, code 0.
        coded = {h.code(at): sql("COALESCE(:code, 0)", code=column(f"code_{at}", alias)) for at in h.coded}
        query = query.select(*(code.as_(name) for name, code in coded.items()))
        on = exp.EQ(this=column(f"q{h.index}", "tuples"), expression=column("value", alias))
        query = query.join(exp.alias_(codes[h.index], alias, table=True), on=on, join_type="left")
    counted = select(*map(column, names), m="CAST(SUM(m) AS BIGINT)").from_(query.subquery("coded"))
    return counted.group_by(*map(column, names)) if names else counted


def _largest(hierarchy: Hierarchy, codes: dict[int, exp.Table], scratch: Scratch) -> int:
    """No level has more codes than the lowest."""
    if hierarchy.index not in codes:
        return 0
    query = exp.select(*(sql(f"MAX(code_{level})") for level in hierarchy.coded)).from_(codes[hierarchy.index])
    (found,) = scratch.workbench.fetch(query)
    return max((int(code) for code in found if code is not None), default=0)
