"""Every hierarchy becomes a mapping table in the database."""

from duckanon.hierarchy.hierarchy import Hierarchy, Level, removed

__all__ = ["Hierarchy", "Level", "removed"]
