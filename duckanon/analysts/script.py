"""The SQL of a run as text: what `duckanon sql` prints is what a run executes."""

from __future__ import annotations

from sqlglot import exp

from duckanon.analysts.dialects import OWN, must_have_one_text, said
from duckanon.analysts.legend import legend
from duckanon.analysts.portable import DIALECTS, comment
from duckanon.census.counting import Census, take_census
from duckanon.census.pseudonyms import Pseudonym
from duckanon.census.source import BoundSource, bind_source
from duckanon.engine import Executed, Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.errors import Fault, PolicyError, UsageError
from duckanon.hierarchy import named_levels
from duckanon.local import find_placement
from duckanon.policy import MappingFile, Policy
from duckanon.query.expressions import column, create
from duckanon.query.names import quoted
from duckanon.recoding.full_domain import FullDomain
from duckanon.recoding.local import LocalRecoding
from duckanon.recoding.rows import AS_THEY_ARE
from duckanon.search import search
from duckanon.search.given import given_node
from duckanon.search.lattice import Node
from duckanon.search.measure import Measurer
from duckanon.search.problem import Problem


def script(policy: Policy, warehouse: Warehouse, levels: str | None, dialect: str) -> str:
    """Every statement of a run at one node (hierarchies, census, level view, checks, release) or, of a local method, of
    its placing: what it prints gives the released rows, statement by statement."""
    if dialect not in DIALECTS:
        raise UsageError([Fault("--dialect", f"there is no '{dialect}'", f"one of {', '.join(DIALECTS)}")])
    scratch = Scratch(warehouse.workbench, prefix=f"duckanon_{policy.name}")
    try:
        with scratch.workbench.traced() as counting:
            source = bind_source(policy, warehouse, scratch)
            must_have_one_text([c for _, c in (*source.quasi_identifiers, *source.sensitive)], dialect)
            census = take_census(policy, source, scratch)
            measurer = Measurer(Problem.of(policy, census))
        if levels is None and policy.search.is_local:
            header = f"policy {policy.name}, every class at its own levels, as {policy.search.method} places them"
            releasing = _local_statements(measurer, source, scratch)
        else:
            node = given_node(levels, census) if levels is not None else _found(measurer)
            shown = ", ".join(f"{name}={level}" for name, level in named_levels(census.hierarchies, node).items())
            header = f"policy {policy.name}, levels {shown}"
            releasing = _node_statements(measurer, node, source, scratch)
        statements = [executed for executed in counting if executed.note or executed.makes]
        if dialect != OWN:
            statements = [_with_rows(executed, policy, census) for executed in statements]
    finally:
        scratch.clear()
    head = "\n".join(map(comment, [header, *legend(measurer), *_notes(policy)]))
    return "\n\n".join([head, *(_text(part, dialect) for part in statements + releasing)])


def _notes(policy: Policy) -> list[str]:
    """What the script does not say."""
    if policy.pseudonyms is None:
        return []
    return ["Pseudonyms need the key, which only a run is given: what makes them fails here."]


def _with_rows(executed: Executed, policy: Policy, census: Census) -> Executed:
    """A hierarchy file, which only DuckDB reads, as the rows that it has; any other statement as it is."""
    if not isinstance(executed.statement, str):
        return executed
    for wanted, hierarchy in zip(policy.quasi_identifiers, census.hierarchies, strict=True):
        listing, spec = hierarchy.listing, wanted.hierarchy
        if listing is None or not isinstance(spec, MappingFile) or quoted(listing.name) not in executed.statement:
            continue
        names = [f"level_{level}" for level in range(hierarchy.height + 1)]
        rows = census.workbench.fetch(exp.select(*map(column, names)).from_(listing).order_by(*names))
        listed = exp.select(*map(column, names)).from_(exp.values(rows, alias="listed", columns=names))
        return Executed(executed.note, create("TABLE", listing, listed, temporary=True))
    return executed


def _found(measurer: Measurer) -> Node:
    found = search(measurer, lambda *_: None)
    if measurer.gatherings:
        measurer.gatherings.forget()  # what the printed statements need of it is made anew, and printed
    if found.answer is None:
        fault = Fault("policy", "no node of the lattice was found to hold", "choose one with --levels")
        raise PolicyError([fault], measurer.policy.file)
    return found.answer.node


def _node_statements(measurer: Measurer, node: Node, source: BoundSource, scratch: Scratch) -> list[Executed]:
    with scratch.workbench.traced() as executed:
        measurer = measurer.brought(node)
        scratch.view("level", _level_view(measurer.census, node), "the level view over the census")
        recoding = FullDomain(measurer, measurer.measure(node, wholly=True))
        _release(recoding, source, scratch, executed)
    return [part for part in executed if part.note or part.makes]


def _local_statements(measurer: Measurer, source: BoundSource, scratch: Scratch) -> list[Executed]:
    """The placing takes hundreds of statements, chosen by what the ones before have counted: those that make its tables
    lead to the same placement on the same data."""
    method = measurer.policy.search.method
    with scratch.workbench.traced() as placing:
        placement = find_placement(measurer, lambda *_: None)
    if placement is None:
        raise PolicyError([Fault("policy", f"{method} finds no release that holds")], measurer.policy.file)
    with scratch.workbench.traced() as releasing:
        _release(LocalRecoding(measurer, placement), source, scratch, releasing)
    return [part for part in placing if part.makes] + [part for part in releasing if part.note or part.makes]


def _release(
    recoding: FullDomain | LocalRecoding, source: BoundSource, scratch: Scratch, executed: list[Executed]
) -> None:
    """Adds the release, as rows and, unless it has pseudonyms or numbers of classes, as a view, to what is executed for
    it."""
    rows = recoding.query(source, AS_THEY_ARE)
    executed.append(Executed("the released rows, from the census", rows))
    pseudonyms = any(isinstance(kept, Pseudonym) for kept in source.keep)
    if pseudonyms or any(wanted.is_number for wanted, _ in source.quasi_identifiers):
        return  # it can be no view
    guarded = recoding.view(source, source.table, lambda thing, rows: scratch.table(thing, rows, "kept for the view"))
    executed.append(Executed("the view over the source, guarding itself", guarded))


def _level_view(census: Census, node: Node) -> exp.Select:
    """One node as a view over the census: another choice of columns."""
    query = exp.select()
    for hierarchy, level in zip(census.hierarchies, node, strict=True):
        if level < hierarchy.height:
            query = query.select(column(hierarchy.code(level)).as_(hierarchy.column.name, quoted=True))
    for values in census.sensitive:
        query = query.select(column(f"s{values.index}").as_(values.column.name, quoted=True))
    return query.select("n").from_(census.table)


def _text(executed: Executed, dialect: str) -> str:
    text = f"{said(executed, dialect).strip()};"
    return f"{comment(executed.note)}\n{text}" if executed.note else text
