"""The choices that are compared: a policy under every k, budget and method that is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from duckanon.errors import Fault, PolicyError, UsageError
from duckanon.policy import Policy
from duckanon.policy.load import METHODS, parse_policy
from duckanon.policy.overrides import SHORT, Override, exact
from duckanon.search import Step

ALL = "all"


@dataclass(frozen=True, eq=False)
class Wanted:
    """A policy to try, and by which words a command makes it of the one that is compared."""

    policy: Policy
    changes: Mapping[str, str] = field(default_factory=dict)  # {"--k": "10"}; none: it is the policy itself

    @property
    def is_own(self) -> bool:
        return not self.changes

    @property
    def name(self) -> str:
        policy = self.policy
        return f"{policy.search.method}, k {policy.k}, budget {policy.suppression}"


@dataclass(frozen=True, eq=False)
class Choice:
    """What a run with it would come to."""

    wanted: Wanted
    status: str  # holds | infeasible
    seconds: float
    levels: dict[str, int] | None = None
    suppressed: int | None = None  # rows
    classes: int | None = None
    highest_risk: float | None = None
    utility: dict[str, Any] | None = None
    columns: dict[str, str] = field(default_factory=dict)  # what becomes of each, in words
    reasons: tuple[str, ...] = ()  # why there is no release
    path: tuple[Step, ...] = ()  # that the search took

    @property
    def ncp(self) -> float | None:
        return self.utility["ncp"] if self.utility else None


@dataclass(frozen=True)
class Grid:
    """Values to try of each of the three; none: the policy's own, and every method."""

    k: Sequence[Any] = ()
    suppression: Sequence[Any] = ()
    method: Sequence[Any] = ()

    def wanted(self, policy: Policy) -> tuple[list[Wanted], dict[str, str]]:
        """Every combination, the policy itself among them; and the methods that it cannot use, with why."""
        methods, skipped = self._methods(policy)
        tried = product(_values(policy.k, self.k), _values(policy.suppression, self.suppression), methods)
        found = {_key(part.policy): part for part in (_varied(policy, *values) for values in tried)}
        own = Wanted(policy)
        return [*([] if _key(policy) in found else [own]), *found.values()], skipped

    def _methods(self, policy: Policy) -> tuple[list[Any], dict[str, str]]:
        """Who names a method wants to hear why it cannot be; who asks for all of them, which cannot."""
        if self.method and ALL not in self.method:
            return list(self.method), {}
        if len(self.method) > 1:
            raise UsageError([Fault("--method", "all goes with no other", "name methods, or all")])
        usable, skipped = [], {}
        for method in METHODS:
            try:
                _varied(policy, policy.k, policy.suppression, method)
                usable.append(method)
            except PolicyError as error:
                skipped[method] = "; ".join(_why(fault).removeprefix(f"{method} ") for fault in error.faults)
        return usable, skipped


def _why(fault: Fault) -> str:
    """Without the word of a command that was never given."""
    where = fault.where.removeprefix("--method").removeprefix(": ")
    return f"{where}: {fault.what}" if where else fault.what


def _values(own: Any, asked: Sequence[Any]) -> list[Any]:
    return exact(list(asked)) or [own]


def _varied(policy: Policy, k: Any, suppression: Any, method: Any) -> Wanted:
    own = {"--k": policy.k, "--suppression": policy.suppression, "--method": policy.search.method}
    asked = {"--k": k, "--suppression": suppression, "--method": method}
    changed = [Override(SHORT[word], value, word) for word, value in asked.items() if value != own[word]]
    if not changed:
        return Wanted(policy)
    made = parse_policy(policy.text, policy.folder, policy.file, tuple(changed))
    return Wanted(made, {override.said: str(override.value) for override in changed})


def _key(policy: Policy) -> tuple[Any, ...]:
    return policy.k, policy.suppression, policy.search.method
