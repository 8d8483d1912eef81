"""Local recoding on the lattice: every class is released at the finest node where it holds, the rest climbs on."""

from duckanon.local.climb.climbing import climb

__all__ = ["climb"]
