"""Local recoding: every class is released at its own levels."""

from duckanon.local.placement import Placement, find_placement

__all__ = ["Placement", "find_placement"]
