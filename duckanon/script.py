"""The SQL of a run as text: what `duckanon sql` prints is what a run executes."""

from __future__ import annotations

from sqlglot import ErrorLevel, exp

from duckanon.census import Census, take_census
from duckanon.engine import Engine
from duckanon.engine.names import folded
from duckanon.errors import Fault, PolicyError
from duckanon.expressions import column
from duckanon.lattice import Node
from duckanon.local import place
from duckanon.measure import Measurer
from duckanon.policy import Policy
from duckanon.policy.load import LOCAL
from duckanon.portable import DIALECTS
from duckanon.problem import Problem
from duckanon.recoding import Recoding
from duckanon.recoding.full_domain import FullDomain
from duckanon.recoding.local import LocalRecoding
from duckanon.release import as_they_are
from duckanon.result import named_levels
from duckanon.scratch import Scratch
from duckanon.search import search
from duckanon.source import BoundSource, bind_source

Statement = exp.Expr | str


def script(policy: Policy, engine: Engine, levels: str | None, dialect: str) -> str:
    """Every statement of a run at one node: hierarchies, census, level views, checks, release."""
    if dialect not in DIALECTS:
        raise PolicyError([Fault("--dialect", f"there is no '{dialect}'", f"one of {', '.join(DIALECTS)}")])
    scratch = Scratch(engine, prefix=f"duckanon_{policy.name}")
    start = len(engine.trace)
    try:
        source = bind_source(policy, scratch)
        census = take_census(policy, source, scratch)
        measurer = Measurer(Problem.of(policy, census))
        statements = list(engine.trace[start:])
        if levels is None and policy.search.method in LOCAL:
            header = f"-- policy {policy.name}, every class at its own levels, as {policy.search.method} places them"
            statements += _local_statements(policy, census, measurer, source, scratch)
        else:
            node = _given(levels, census) if levels else _found(policy, census, measurer)
            shown = ", ".join(f"{name}={level}" for name, level in named_levels(census.hierarchies, node).items())
            header = f"-- policy {policy.name}, levels {shown}"
            statements += _node_statements(policy, census, measurer, node, source, scratch)
    finally:
        scratch.clear()
    return "\n\n".join([header, *(_text(note, statement, dialect) for note, statement in statements)])


def _given(levels: str, census: Census) -> Node:
    """The node that `--levels age=2,zip=1` names; columns that are not named stay as they are."""
    names = {folded(h.column.name): h for h in census.hierarchies}
    chosen = dict.fromkeys(names, 0)
    faults = []
    named: set[str] = set()
    for part in levels.split(","):
        name, equals, level = part.rpartition("=")
        if not equals:
            faults.append(Fault("--levels", f"'{part}' names no level", f"write {part}=1"))
            continue
        hierarchy = names.get(folded(name.strip()))
        if hierarchy is None:
            remedy = f"quasi-identifiers: {', '.join(h.column.name for h in census.hierarchies)}"
            faults.append(Fault("--levels", f"'{part}' names no quasi-identifier", remedy))
        elif folded(name.strip()) in named:
            faults.append(Fault("--levels", f"'{part}' names a column for the second time"))
        elif not level.strip().isdecimal() or int(level) > hierarchy.height:
            faults.append(Fault("--levels", f"'{part}' must be a level from 0 to {hierarchy.height}"))
        else:
            chosen[folded(name.strip())] = int(level)
            named.add(folded(name.strip()))
    if faults:
        raise PolicyError(faults)
    return tuple(chosen.values())


def _found(policy: Policy, census: Census, measurer: Measurer) -> Node:
    found = search(measurer, lambda *_: None)
    if found.answer is None:
        raise PolicyError([Fault("policy", "no node of the lattice holds", "choose one with --levels")], policy.file)
    return found.answer.node


def _node_statements(
    policy: Policy, census: Census, measurer: Measurer, node: Node, source: BoundSource, scratch: Scratch
) -> list[tuple[str, Statement]]:
    start = len(scratch.engine.trace)
    scratch.view("level", _level_view(census, node), "the level view over the census")
    recoding = FullDomain(measurer, measurer.measure(node, wholly=True))
    return _release_statements(recoding, source, scratch, start)


def _local_statements(
    policy: Policy, census: Census, measurer: Measurer, source: BoundSource, scratch: Scratch
) -> list[tuple[str, Statement]]:
    """What follows once the cells are placed; the placing itself takes hundreds of statements, none like another."""
    placement = place(measurer, lambda *_: None)
    if placement is None:
        raise PolicyError([Fault("policy", f"{policy.search.method} finds no release that holds")], policy.file)
    start = len(scratch.engine.trace)
    return _release_statements(LocalRecoding(measurer, placement), source, scratch, start)


def _release_statements(
    recoding: Recoding, source: BoundSource, scratch: Scratch, start: int
) -> list[tuple[str, Statement]]:
    """All that was traced since `start`, and the release as rows and as a view."""
    trace = scratch.engine.trace
    rows = recoding.query(source, as_they_are)
    statements = [*trace[start:], ("the released rows, from the census", rows)]
    start = len(trace)
    guarded = recoding.view(source, source.table, lambda thing, rows: scratch.table(thing, rows, "kept for the view"))
    return [*statements, *trace[start:], ("the view over the source, guarding itself", guarded)]


def _level_view(census: Census, node: Node) -> exp.Select:
    """One node as a view over the census: another choice of columns."""
    query = exp.select()
    for hierarchy, level in zip(census.hierarchies, node, strict=True):
        if level < hierarchy.height:
            query = query.select(column(hierarchy.code(level)).as_(hierarchy.column.name, quoted=True))
    for values in census.sensitive:
        query = query.select(column(f"s{values.index}").as_(values.column.name, quoted=True))
    return query.select("n").from_(census.table)


def _text(note: str, statement: Statement, dialect: str) -> str:
    if isinstance(statement, str):
        return f"-- {note}" + (" (DuckDB)" if dialect != "duckdb" else "") + f"\n{statement.strip()};"
    return f"-- {note}\n{statement.sql(dialect, identify=True, pretty=True, unsupported_level=ErrorLevel.IGNORE)};"
