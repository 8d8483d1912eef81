"""Many nodes of the lattice measured at once."""

from duckanon.search.survey.survey import Survey, Surveyed

__all__ = ["Survey", "Surveyed"]
