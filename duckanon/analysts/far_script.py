"""The SQL of a run in a warehouse that is no DuckDB, as text: what it counts there, what is sent, and the release."""

from __future__ import annotations

from sqlglot import ErrorLevel, exp

from duckanon.analysts.portable import comment
from duckanon.census.counting import take_census
from duckanon.census.source import BoundSource, bind_source
from duckanon.engine import Engine, Executed, Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.errors import Fault, PolicyError, UsageError
from duckanon.policy import Policy
from duckanon.query.expressions import column, create, literal
from duckanon.recoding import Recoding, find_recoding
from duckanon.recoding.full_domain import at_node
from duckanon.search.given import given_node
from duckanon.search.measure import Measurer
from duckanon.search.problem import Problem


class PrintedScratch(Scratch):
    """Sends nothing: what would be sent is printed, as the rows that it has."""

    def __init__(self, warehouse: Warehouse, prefix: str) -> None:
        super().__init__(warehouse, prefix)
        self.warehouse, self.printed = warehouse, list[Executed]()

    def sent(self, thing: str, query: exp.Query, note: str, there: Engine | None = None) -> exp.Table:
        name = self.name(thing)
        self.printed.append(Executed(note, _listed(name, query, self.warehouse), self.warehouse))
        return name


class FollowedScratch(Scratch):
    """Sends what a count needs, and notes it as the rows that it has."""

    def __init__(self, warehouse: Warehouse) -> None:
        super().__init__(warehouse.workbench)
        self.warehouse = warehouse

    def sent(self, thing: str, query: exp.Query, note: str, there: Engine | None = None) -> exp.Table:
        name = super().sent(thing, query, note, there)
        self.workbench.note(note, _listed(name, query, self.warehouse), self.warehouse)
        return name


def _listed(name: exp.Table, query: exp.Query, warehouse: Warehouse) -> exp.Expr:
    """What makes a table of the rows of a query to the workbench."""
    names = [part.alias_or_name for part in query.selects]
    rows = warehouse.workbench.fetch(query)
    listed = exp.values([tuple(map(literal, row)) for row in sorted(rows, key=str)], alias="sent", columns=names)
    values: exp.Query = exp.select(*map(column, names)).from_(listed)
    if not rows:
        values = exp.select(*(exp.null().as_(name) for name in names)).where(exp.false())
    return create("TABLE" if warehouse.temporary_tables else "VIEW", name, values, temporary=True)


def far_script(policy: Policy, warehouse: Warehouse, levels: str | None, dialect: str | None) -> str:
    """The statements of a run there, at the `levels` of a node or as the policy's method finds it: run by hand, they
    give the released rows. Nothing is written."""
    if dialect not in (None, warehouse.dialect_name):
        remedy = "leave --dialect out"
        raise UsageError([Fault(f"--dialect {dialect}", f"the database speaks {warehouse.dialect_name}", remedy)])
    if policy.pseudonyms is not None:
        what = "are made with a key that only a run is given, so the release cannot be printed"
        raise UsageError([Fault("columns.pseudonyms", what, "print the policy without them")])
    scratch = FollowedScratch(warehouse)
    printed = PrintedScratch(warehouse, f"duckanon_{policy.name}")
    try:
        with warehouse.workbench.traced() as executed:
            source = bind_source(policy, warehouse, scratch)
            census = take_census(policy, source, scratch)
        counted = [part for part in executed if part.by is warehouse and part.note]
        recoding = _recoding(Measurer(Problem.of(policy, census)), levels)
        rows, node = _released(policy, recoding, source, printed), recoding.levels
    finally:
        scratch.clear()
    at = ", ".join(f"{name}={level}" for name, level in node.items()) if node else "every class at its own levels"
    head = [
        f"policy {policy.name}, {policy.search.method}: {at}",
        "What is counted comes to the workbench and is searched there; what was found goes up as codes and labels.",
    ]
    statements = [*counted, *printed.printed, rows]
    return "\n\n".join(["\n".join(map(comment, head)), *(_text(part, warehouse) for part in statements)])


def _recoding(measurer: Measurer, levels: str | None) -> Recoding:
    if levels is not None:
        return at_node(measurer, given_node(levels, measurer.census))
    found = find_recoding(measurer, lambda *_: None).recoding
    if found is None:
        fault = Fault("policy", "no release was found that holds", "choose a node with --levels")
        raise PolicyError([fault], measurer.policy.file)
    return found


def _released(policy: Policy, recoding: Recoding, source: BoundSource, printed: PrintedScratch) -> Executed:
    if policy.release.kind != "view":
        return Executed("the released rows, from the source", recoding.over_source(source, printed), source.warehouse)
    assert recoding.view is not None
    view = recoding.view(source, source.table, lambda thing, rows: printed.sent(thing, rows, "kept for the view"))
    return Executed("the view over the source, guarding itself", view, source.warehouse)


def _text(part: Executed, warehouse: Warehouse) -> str:
    said = part.statement
    if not isinstance(said, str):
        said = said.sql(warehouse.dialect, identify=True, pretty=True, unsupported_level=ErrorLevel.IMMEDIATE)
    return f"{comment(part.note)}\n{said.strip()};"
