"""What a profile is: it never weakens what the policy says, and it says itself what it does not do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace

from duckanon.policy.schema import Policy
from duckanon.toml import Section


@dataclass(frozen=True)
class Clause:
    """One thing that the rule book asks for, and how a policy meets it."""

    rule: str  # where it says so
    asks: str
    met: str


class Profile(ABC):
    """Defaults and checks under one name."""

    name: str
    title: str
    k: int | None = None  # the least that it allows; also where the policy says none
    left: tuple[str, ...] = ()  # what it does not do, and who must

    @abstractmethod
    def stricter(self, policy: Policy, top: Section) -> Policy:
        """The policy with what the profile adds, and its faults where the two cannot go together."""

    @abstractmethod
    def clauses(self, policy: Policy) -> Iterator[Clause]:
        """What a policy under this profile does, clause by clause."""

    def applied(self, policy: Policy, top: Section) -> Policy:
        """The stricter of both, in everything."""
        return self.stricter(self._with_k(replace(policy, profile=self.name)), top)

    def _with_k(self, policy: Policy) -> Policy:
        if self.k is None or policy.k >= self.k:
            return policy
        return raised(replace(policy, k=self.k), f"privacy.k: {self.k}, where the policy says {policy.k}")


def raised(policy: Policy, *said: str) -> Policy:
    """With a word on what its profile has made stricter."""
    return replace(policy, raised=(*policy.raised, *said))
