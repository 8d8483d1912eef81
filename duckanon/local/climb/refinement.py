"""Classes that hold are parted and joined anew where that loses less, round by round."""

from __future__ import annotations

from typing import Any

from duckanon.local.climb.class_repair import ClassRepair
from duckanon.local.climb.class_table import ClassTable
from duckanon.local.climb.offers import OfferFinder
from duckanon.local.climb.trials import Trials
from duckanon.search.clock import Clock

# What bounds the time and the memory, whatever the table is.
_REGION = 16_000  # tuples whose classes are looked at together
_REGIONS = 6  # that are looked at, in all rounds together; with more rules than k half as many, for each takes longer
_COUNTED = 80_000  # tuples that take as long to count as a region to look at
_FEWEST = 2
_WORTH = 1000  # a round that gains less than one in so many is the last


class Refinement:
    """Every round counts what stands, takes the best offers of each region and applies them. All classes hold before
    and after it, and less is lost."""

    def __init__(self, repair: ClassRepair, clock: Clock) -> None:
        self.repair, self.clock = repair, clock
        self.table = ClassTable(repair.tuples)
        self.finder, self.trials = OfferFinder(self.table), Trials(self.table)
        self.rounds = self.offers = 0
        self.finished = True

    @property
    def effort(self) -> dict[str, Any]:
        return {"rounds": self.rounds, "offers": self.offers, "finished": self.finished}

    def run(self) -> None:
        tuples = self.repair.tuples
        most = _REGIONS // 2 if tuples.measurer.judged else _REGIONS
        left = max(_FEWEST, most - tuples.count("tuples") // _COUNTED)
        while left > 0 and not self._is_over():
            self.table.count(_REGION)
            before, regions = self.table.loss(), min(left, self.table.regions)
            left -= regions
            if self._round(regions) * _WORTH <= before:
                break
        self.repair.recount_budget()

    def _is_over(self) -> bool:
        self.finished = not self.clock.is_over
        return not self.finished

    def _round(self, regions: int) -> int:
        """Says how much less is lost by the offers."""
        gained = 0
        self.trials.begin()
        for region in range(regions):
            if self._is_over():
                break
            self.finder.find(region)
            offers, gain = self.trials.take(region)
            self.offers, gained = self.offers + offers, gained + gain
        self.trials.apply()
        self.rounds += 1
        return gained
