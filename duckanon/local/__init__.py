"""Local recoding: every class is released at its own levels."""

from duckanon.local.placement import Placement, place

__all__ = ["Placement", "place"]
