"""Sets of defaults and checks that a rule book asks for, by name: a profile makes a policy stricter, or refuses it."""

from duckanon.policy.profiles.profile import Clause, Profile
from duckanon.policy.profiles.registry import PROFILES, profile_told

__all__ = ["PROFILES", "Clause", "Profile", "profile_told"]
