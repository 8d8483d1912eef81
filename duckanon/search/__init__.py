"""Which node of the lattice to ask for next."""

from duckanon.search.found import FoundNode, Seen, Step
from duckanon.search.methods import search

__all__ = ["FoundNode", "Seen", "Step", "search"]
