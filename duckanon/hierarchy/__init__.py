"""Every hierarchy becomes a mapping table in the database."""

from duckanon.hierarchy.hierarchy import Hierarchy, Level, named_levels, removed

__all__ = ["Hierarchy", "Level", "named_levels", "removed"]
