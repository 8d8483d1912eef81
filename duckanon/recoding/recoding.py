"""How the table is recoded: which rows are released, at which levels, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.census.source import BoundSource
from duckanon.engine import Type
from duckanon.engine.scratch import Scratch
from duckanon.recoding.rows import Labels, Steps
from duckanon.recoding.view_rows import Keeper
from duckanon.search import FoundNode, Seen, Step, search
from duckanon.search.afar import node_measurer
from duckanon.search.batch import NodeCounts
from duckanon.search.lattice import Lattice, Node
from duckanon.search.measure import Measurement, Measurer
from duckanon.search.monotone import top_is_best


class View(Protocol):
    def __call__(self, source: BoundSource, rows: exp.Table, keep: Keeper) -> exp.Select:
        """A view over the source `rows` that guards itself."""


class Recoding(Protocol):
    """A release that is found and not yet made."""

    @property
    def rows(self) -> int:
        """Rows that are released."""

    @property
    def classes(self) -> int: ...

    @property
    def smallest(self) -> int | None:
        """Rows, or people, of the smallest class that is released; None: it is not known."""

    @property
    def new_rows(self) -> int | None:
        """Of these rows, those that the last release has not; None: all is released anew."""

    @property
    def levels(self) -> dict[str, int] | None:
        """The level of each quasi-identifier, where all rows share it."""

    @property
    def node(self) -> Node | None:
        """The same, in the policy's order."""

    def classes_by_levels(self) -> list[dict[str, Any]] | None:
        """The combinations of levels in use, where rows do not share them."""

    def described(self) -> dict[str, str]:
        """What is done to each quasi-identifier, in words."""

    @property
    def shown(self) -> Census:
        """The census with its hierarchies as the release shows them."""

    def types(self) -> dict[str, Type]:
        """What each quasi-identifier is shown as."""

    def shown_cells(self, source: BoundSource, labels: Labels) -> Steps:
        """The released cells as they are shown, in their order."""

    def query(self, source: BoundSource, labels: Labels) -> exp.Select:
        """The released rows: each cell as often as it stands for one."""

    def over_source(self, source: BoundSource, scratch: Scratch) -> exp.Select:
        """The same rows as a query of the warehouse, which is sent what it takes into the `scratch` there."""

    @property
    def view(self) -> View | None:
        """The same as a view; None: it can be none."""

    def utility(self) -> dict[str, Any]:
        """What is lost."""

    def fidelity(self) -> dict[str, Any]:
        """What an analyst finds again; nothing, where that cannot be said."""


@dataclass(frozen=True)
class Found:
    """How a search went and what it found; without a recoding `top` says what does not hold at the top node."""

    path: tuple[Step, ...]
    bottom: NodeCounts
    recoding: Recoding | None
    top: Measurement | None = None
    effort: dict[str, Any] | None = None
    reasons: tuple[str, ...] = ()  # why there is no recoding, where that is not for the constraints at the top
    top_is_best: bool = True  # whether no node does better than the top
    proven: bool = True  # without a recoding: that there is none


def find_recoding(measurer: Measurer, seen: Seen, last: Node | None = None) -> Found:
    """A recoding by the policy's method; `last`, the node of the last release, binds it by the policy's mode."""
    if not measurer.policy.search.is_local:
        from duckanon.recoding.full_domain import FullDomain

        found = _found_node(measurer, seen, last)
        recoding = FullDomain.of(measurer, found.answer) if found.answer else None
        proven = found.effort is None or bool(found.effort["proven"])
        best = top_is_best(measurer)
        return Found(found.path, found.bottom, recoding, found.top, found.effort, top_is_best=best, proven=proven)
    from duckanon.local import find_placement
    from duckanon.recoding.local import LocalRecoding

    lattice = Lattice.of(measurer.census.hierarchies)
    (bottom,) = node_measurer(measurer).measure([lattice.bottom])
    placement = find_placement(measurer, seen)
    if placement is None:
        top, best = measurer.measure(lattice.top), top_is_best(measurer)
        proven = best and not top.holds(measurer.problem.budget)
        return Found((), bottom, None, top, top_is_best=best, proven=proven)
    return Found((), bottom, LocalRecoding(measurer, placement), effort=placement.effort)


def _found_node(measurer: Measurer, seen: Seen, last: Node | None) -> FoundNode:
    """By the policy's mode: any node, none finer than the last, or the last and no other."""
    if last is None:
        return search(measurer, seen)
    (bottom,) = node_measurer(measurer).measure([measurer.census.bottom])
    if measurer.policy.release.mode == "monotone":
        return replace(search(measurer, seen, floor=last), bottom=bottom)
    measured = measurer.measure(last)
    holds = measured.holds(measurer.problem.budget)
    path = (Step(last, measured.failing_rows, holds),)
    return FoundNode(path, bottom, measured if holds else None, top=None if holds else measured)
