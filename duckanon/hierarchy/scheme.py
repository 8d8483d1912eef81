"""How a quasi-identifier is generalized, before its values are coded: computed from the value, or listed."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from duckanon.engine import Column
from duckanon.errors import Fault, HierarchyError
from duckanon.hierarchy.computed import Kind
from duckanon.hierarchy.listing import Listing
from duckanon.policy import QuasiIdentifier


@dataclass(frozen=True)
class Scheme:
    """Either a kind or a listing."""

    index: int  # position in the policy
    wanted: QuasiIdentifier
    column: Column
    kind: Kind | None
    listing: Listing | None

    @property
    def where(self) -> str:
        return f"quasi_identifiers.{self.wanted.column}.hierarchy"

    @property
    def height(self) -> int:
        return self.listing.height if self.listing else self._kind.levels + 1

    @property
    def listed_values(self) -> int | None:
        """How many there can be; None: nobody knows. Of codes, only their beginnings are listed."""
        return self.listing.values if self.listing and self.listing.matching.pattern is None else None

    @property
    def top(self) -> str:
        return self.listing.top if self.listing else self._kind.top

    def must_have_levels(self) -> None:
        """The bounds of the policy are levels of the hierarchy."""
        bounds = {"at_least": self.wanted.at_least, "at_most": self.wanted.at_most}
        what = f"{{}} is no level of its hierarchy, which has 0 to {self.height}"
        faults = [
            Fault(f"quasi_identifiers.{self.wanted.column}.{key}", what.format(level))
            for key, level in bounds.items()
            if level is not None and level > self.height
        ]
        if faults:
            raise HierarchyError(faults)

    @property
    def _kind(self) -> Kind:
        assert self.kind is not None
        return self.kind

    def unknown(self, value: exp.Expr) -> exp.Expr | None:
        """Which non-NULL values the hierarchy does not know; None: there can be none."""
        return self.listing.lacks(value) if self.listing else self._kind.unmapped(value)
