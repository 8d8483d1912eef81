"""The profiles there are, and what one of them says of a policy."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from duckanon.policy.profiles.ema_0070 import EMA_0070
from duckanon.policy.profiles.profile import Profile
from duckanon.policy.profiles.safe_harbor import SAFE_HARBOR
from duckanon.policy.schema import Policy

PROFILES: dict[str, Profile] = {profile.name: profile for profile in (SAFE_HARBOR, EMA_0070)}


def profile_told(policy: Policy) -> dict[str, Any] | None:
    """What a result and a report say of the policy's profile; None: it has none."""
    if policy.profile is None:
        return None
    profile = PROFILES[policy.profile]
    return {
        "name": profile.name,
        "title": profile.title,
        "raised": list(policy.raised),
        "clauses": [asdict(clause) for clause in profile.clauses(policy)],
        "left": list(profile.left),
    }
