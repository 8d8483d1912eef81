"""What is to be solved: a policy, the source as it was counted, and how many rows a solution may suppress."""

from __future__ import annotations

from dataclasses import dataclass

from duckanon.census.counting import Census
from duckanon.policy import Policy


@dataclass(frozen=True)
class Problem:
    """Nobody else works out a budget: rows that are left out of the census are taken from it here, and only once."""

    policy: Policy
    census: Census
    allowed: int  # rows of the source that may be suppressed

    @classmethod
    def of(cls, policy: Policy, census: Census) -> Problem:
        return cls(policy, census, policy.budget(census.rows))

    @property
    def budget(self) -> int:
        """Rows of the census that may be suppressed."""
        return max(0, self.allowed - self.census.left_out)
