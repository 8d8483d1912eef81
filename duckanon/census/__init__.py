"""The source, counted once: distinct tuples of what is released, coded for every level."""

from duckanon.census.counting import Census, take_census

__all__ = ["Census", "take_census"]
