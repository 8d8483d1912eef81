"""EMA policy 0070: clinical data published by the European Medicines Agency."""

from __future__ import annotations

from collections.abc import Iterator

from duckanon.policy.profiles.profile import Clause, Profile
from duckanon.policy.schema import Policy
from duckanon.toml import Section


class Ema0070(Profile):
    """The highest risk of anybody is at most 0.09: of classes of 11 it would be 0.0909…, so 12 is the least."""

    name = "ema_0070"
    title = "EMA policy 0070, publication of clinical data: highest risk 0.09"
    k = 12
    left = (
        "It bounds the risk to be found by the quasi-identifiers that the policy names, in the table that is released. "
        "Which columns others may know of a person is for the policy to say.",
        "What is kept unchanged, and sensitive values, are not part of the classes; whom they show is only measured.",
        "Clinical reports are texts: nothing here reads or redacts them. The anonymisation report that the agency asks "
        "for is yours to write; this page is evidence for it, not the report.",
        "It is no legal advice.",
    )

    def stricter(self, policy: Policy, top: Section) -> Policy:
        return policy

    def clauses(self, policy: Policy) -> Iterator[Clause]:
        counted = "rows" if policy.entity is None else f"people ({policy.entity})"
        yield Clause(
            "EMA external guidance on the implementation of policy 0070: threshold of 0.09",
            "the highest risk that anybody is found is at most 0.09",
            f"every class has at least {policy.k} {counted}, a risk of at most {1 / policy.k:.4f}",
        )
        who = "every row counts as a person: name privacy.entity if one has several"
        yield Clause(
            "the same",
            "people are counted, not their records",
            who if policy.entity is None else f"people are counted by {policy.entity}",
        )


EMA_0070 = Ema0070()
