"""New rows that join the classes of the last release, which itself stays as it is."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.census.source import BoundSource
from duckanon.errors import ReleaseError
from duckanon.policy import Policy
from duckanon.policy.load import LOCAL
from duckanon.query.expressions import column, same, sql, text_of
from duckanon.recoding import Found
from duckanon.recoding.full_domain import FullDomain
from duckanon.recoding.rows import Labels, labelled_cells, repeated_rows
from duckanon.recoding.view import Keeper
from duckanon.search import Step
from duckanon.search.batch import BatchMeasurer
from duckanon.search.lattice import Node
from duckanon.search.measure import Measurement, Measurer

_NO_VIEW = "--incremental: a view shows all rows at any time; there is nothing to add to"
# Rows of the last release that are there still, and those of classes which do not hold with all their rows of now.
_SUMS = ("LEAST(was, is_)", "CASE WHEN holds = 0 THEN was ELSE 0 END")


def must_be_addable(policy: Policy, replace: bool) -> None:
    """New rows join classes by the levels that all rows share, in a release of this policy."""
    if replace:
        raise ReleaseError("--incremental: does not go with --replace, which takes what stands for nobody's")
    if policy.release.kind == "view":
        raise ReleaseError(_NO_VIEW)
    if policy.search.method in LOCAL:
        what = f"{policy.search.method} has no levels that all rows share"
        raise ReleaseError(f"--incremental: {what}; use greedy, optimal or datafly")


def find_increment(measurer: Measurer, last: Node, source: BoundSource, before: exp.Table | None) -> Found:
    """The last release, whose rows are `before`, and at its levels the new rows of every class that holds with them."""
    if before is None:
        raise ReleaseError("--incremental: the last release is not in its place any more; run without it")
    (bottom,) = BatchMeasurer(measurer).measure([(0,) * len(last)])
    increment = Increment(measurer, measurer.measure(last, wholly=True), source, before)
    reasons = tuple(increment.reasons())
    path = (Step(last, increment.measured.failing_rows, not reasons),)
    return Found(path, bottom, None if reasons else increment, reasons=reasons)


class Increment(FullDomain):
    """The node of the last release. A class that holds with all its rows of now is released with them; of one that does
    not, only what was released already."""

    def __init__(self, measurer: Measurer, measured: Measurement, source: BoundSource, before: exp.Table) -> None:
        super().__init__(measurer, measured)
        self.shown = self._shown_before(source, before)
        self.cells = self._joined(source, before)
        self._count(before)

    def _shown_before(self, source: BoundSource, before: exp.Table) -> Census:
        """With the stars of the last release: what stands there stays as it is, whatever has come."""
        longest = {}
        for h, level in zip(self.census.hierarchies, self.node, strict=True):
            if h.tells_length and level == h.height:
                text = column(f"t{source.released.index(h.column.name)}")
                stars = sql("MAX(LENGTH(:t))", t=text)
                query = exp.select(stars).from_(before).where(sql("REPLACE(:t, '*', '') = ''", t=text))
                ((longest[h.index],),) = self.census.workbench.fetch(query)
        if None in longest.values():  # of no rows; then what holds is the whole release
            return self._shown_by(exp.select().from_(self.holding().subquery("g")))
        return self.census.with_lengths(longest)

    def _now(self, source: BoundSource) -> exp.Select:
        """Every cell of the source at the node as shown (r0 …), its keys, its rows n, and whether its class holds."""
        census, keys = self.census, self.census.keys(self.node)
        columns = [column(name, "c") for name in (*keys, *census.others)]
        holds = sql("MAX(CASE WHEN g.x IS NULL THEN 0 ELSE 1 END)").as_("holds")
        cells = exp.select(*columns, holds, sql("CAST(SUM(c.n) AS BIGINT)").as_("n"))
        cells = cells.from_(exp.alias_(census.table, "c", table=True))
        cells = cells.join(self.holding().subquery("g"), on=same(keys, "c", "g", nulls=False), join_type="left")
        cells = cells.group_by(*columns) if columns else cells
        shown = labelled_cells(self.shown, cells, self.labels(), source)
        return shown.select(*(column(key, "c") for key in keys), column("holds", "c"))

    def _joined(self, source: BoundSource, before: exp.Table) -> exp.Table:
        """These cells with the number of their rows that there are (is_), were released (was) and will be (n)."""
        positions = range(len(source.released))
        texts = [
            exp.NullSafeEQ(this=text_of(column(f"r{position}", "c")), expression=column(f"t{position}", "b"))
            for position in positions
        ]
        joined = (
            exp.select("c.*", sql("COALESCE(b.n, 0)").as_("was"))
            .from_(self._now(source).subquery("c"))
            .join(exp.alias_(before, "b", table=True), on=exp.and_(*texts), join_type="left")
        )
        will = sql("CASE WHEN holds = 1 THEN n ELSE was END").as_("n")
        names = [*(f"r{position}" for position in positions), *self.census.keys(self.node), "holds", "was"]
        query = exp.select(*map(column, names), column("n").as_("is_"), will).from_(joined.subquery("j"))
        return self.census.scratch.table("increment", query, "the last release, and what is new")

    def _count(self, before: exp.Table) -> None:
        workbench = self.census.workbench
        sums = [sql(f"CAST(COALESCE(SUM({what}), 0) AS BIGINT)") for what in _SUMS]
        ((found, self.partly),) = workbench.fetch(
            exp.select(*sums).from_(self.cells), "what is there of the last release"
        )
        ((previous,),) = workbench.fetch(exp.select(sql("CAST(COALESCE(SUM(n), 0) AS BIGINT)")).from_(before))
        self.lost = previous - found
        sizes = exp.select("COUNT(*)", sql("COALESCE(SUM(x), 0)"), sql("COALESCE(SUM(x * x), 0)"))
        ((classes, rows, squares),) = workbench.fetch(sizes.from_(self.good))
        self.rows, self.classes = int(rows), classes
        self.new_rows: int | None = self.rows - int(previous)
        self.measured = replace(
            self.measured,
            failing_rows=self.measured.rows - self.rows,
            failing_classes=self.measured.classes - classes,
            squares=int(squares),
        )

    @cached_property
    def good(self) -> exp.Table:
        keys = [column(key) for key in self.census.keys(self.node)]
        query = exp.select(*keys, sql("CAST(SUM(n) AS DOUBLE)").as_("x")).from_(self.cells).where("n > 0")
        query = query.group_by(*keys) if keys else query
        return self.census.scratch.table("good", query, "the classes that are released")

    def reasons(self) -> list[str]:
        """Why the last release cannot be added to."""
        if self.lost:
            what = f"{abs(self.lost):,} rows of the last release are not in the source any more, or not as they were"
            return [f"--incremental: {what}; run without it"]
        if self.partly and self.policy.entity is not None:
            what = "classes of the last release do not hold any more with the rows that are new"
            return [f"--incremental: {what}; run without it"]
        budget = self.measurer.problem.budget
        if self.measured.failing_rows > budget:
            what = f"{self.measured.failing_rows:,} rows do not fit into the classes of the last release"
            return [f"--incremental: {what}, the budget is {budget:,}; run without it"]
        return []

    def query(self, source: BoundSource, labels: Labels) -> exp.Select:
        names = [column(f"r{position}") for position in range(len(source.released))]
        cells = exp.select(*names, "n").from_(self.cells).where(sql("n > 0")).order_by(*(n.copy() for n in names))
        return repeated_rows(cells, source)

    def view(self, source: BoundSource, rows: exp.Table, keep: Keeper) -> exp.Select:
        raise ReleaseError(_NO_VIEW)
