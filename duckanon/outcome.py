"""What a run comes to: its result, whether there is a release or not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from duckanon.audit import Audit
from duckanon.census.counting import Census
from duckanon.census.people import people_told
from duckanon.errors import Message, discreet
from duckanon.policy import Policy
from duckanon.policy.profiles import profile_told
from duckanon.recoding import Found, Recoding
from duckanon.recoding.explain import GENERALIZED, hollow, meant_as_a_share, risk_before
from duckanon.result import Result, step_json

_ONCE = '; if that is what you want, release once with difference = "warn"'


@dataclass(frozen=True)
class Outcome:
    """What is known of a run when it ends."""

    policy: Policy
    census: Census
    found: Found | None  # None: it could not hold, so nothing was searched for
    warnings: tuple[str, ...]
    seconds: dict[str, float]

    @cached_property
    def utility(self) -> dict[str, Any]:
        """What the recoding that was found loses, and what analysts find again."""
        recoding = self.found.recoding if self.found else None
        return recoding.utility() | recoding.fidelity() if recoding else {}

    def verified(self, recoding: Recoding, audited: Audit, dry_run: bool, told_apart: tuple[str, ...]) -> Result:
        """The release, if it holds and tells with the last one no more than the policy allows."""
        policy, census = self.policy, self.census
        suppressed = census.rows - audited.rows
        # The search and the release must tell the same story, whatever the constraints say.
        agree = audited.rows == recoding.rows and audited.classes == recoding.classes and suppressed >= 0
        reasons = [] if agree else ["the release does not hold the rows that the search chose"]
        if policy.release.difference == "refuse":
            reasons += [Message.of(said, _ONCE) for said in told_apart]
            told_apart = ()
        linked = audited.linkable.warnings(policy.k, census.telling) if audited.linkable else ()
        new = {} if recoding.new_rows is None else {"new": recoding.new_rows}
        return self._result(
            "violated" if reasons or not audited.holds else "holds" if dry_run else "released",
            (*linked, *told_apart),
            levels=recoding.levels,
            classes_by_levels=recoding.classes_by_levels(),
            rows={"source": census.rows, "released": audited.rows, "suppressed": suppressed} | new,
            people=people_told(census.people, audited.people),
            classes=audited.classes,
            constraints=audited.findings,
            privacy=audited.told,
            utility=self.utility,
            release={"kind": policy.release.kind, "to": policy.release.to},
            reasons=tuple(reasons),
            descriptions=recoding.described(),
            dry_run=dry_run,
            sizes=audited.sizes,
        )

    def infeasible(self, reasons: tuple[str, ...], where: str = GENERALIZED) -> Result:
        """There is no release; `where` says of which levels the constraints are."""
        return self._result(
            "infeasible",
            levels=None,
            rows={"source": self.census.rows, "released": 0, "suppressed": 0},
            people=people_told(self.census.people, 0),
            classes=0,
            constraints=self.found.top.findings if self.found and self.found.top else (),
            privacy=None,
            utility=None,
            release=None,
            reasons=reasons,
            failed_at=where,
            proven=self.found is None or self.found.proven,
        )

    def _result(self, status: str, more_warnings: tuple[str, ...] = (), **known: Any) -> Result:
        census, found = self.census, self.found
        return Result(
            status=status,
            name=self.policy.name,
            method=self.policy.search.method,
            heights={h.column.name: h.height for h in census.hierarchies},
            path=tuple(step_json(census.hierarchies, step) for step in found.path) if found else (),
            seconds=self.seconds,
            warnings=(
                *self.warnings,
                *meant_as_a_share(self.policy, census.rows),
                *census.warnings,
                *hollow(known["levels"], census),
                *more_warnings,
            ),
            before=risk_before(found.bottom) if found else None,
            effort=found.effort if found else None,
            budget=self.policy.budget(census.rows),
            profile=profile_told(self.policy),
            **known,
        )


def logged(result: Result) -> dict[str, Any]:
    """What a log says of the end of a run."""
    told = {"outcome": result.status, "rows": result.rows, "classes": result.classes, "levels": result.levels}
    words = {"reasons": result.reasons, "warnings": result.warnings}
    return told | {kind: [discreet(text) for text in said] for kind, said in words.items() if said}
