"""Which labels the levels of a column give, as examples."""

from __future__ import annotations

from duckanon.hierarchy import Hierarchy
from duckanon.query.expressions import column, literal, text_of
from duckanon.query.steps import select
from duckanon.search.measure import Measurer

_EXAMPLES = 4

Labels = tuple[tuple[str, int], ...]  # with their rows, or people


class FrequentLabels:
    """The most frequent labels of every level, asked once. Whom a label is of nobody can tell if at least k have it:
    others are never shown."""

    def __init__(self, measurer: Measurer) -> None:
        self._measurer = measurer
        self._known: dict[tuple[int, int], Labels] = {}

    def of(self, hierarchy: Hierarchy, level: int, k: int) -> tuple[str, ...]:
        if level == hierarchy.height:
            return ()
        at = (hierarchy.index, level)
        if at not in self._known:
            self._known[at] = self._ask(hierarchy, level)
        return tuple(label for label, size in self._known[at] if size >= k)

    def _ask(self, hierarchy: Hierarchy, level: int) -> Labels:
        census, code = self._measurer.census, column(hierarchy.code(level))
        counts = select(code=code, size=self._measurer.unit.number).from_(self._measurer.base).group_by(code.copy())
        counts = counts.order_by("size DESC", "code").limit(_EXAMPLES)
        sizes = {int(code): int(size) for code, size in census.engine.fetch(counts, "the most frequent labels")}
        label = text_of(column(hierarchy.label(level)))
        labels = select(code=column(f"code_{level}"), label=label).distinct().from_(hierarchy.mapping)
        labels = labels.where(column(f"code_{level}").isin(*map(literal, sizes)))
        known = dict(census.workbench.fetch(labels)) if sizes else {}
        return tuple((known.get(code, "NULL"), size) for code, size in sizes.items())
