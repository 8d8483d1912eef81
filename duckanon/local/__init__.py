"""Local recoding: every class is released at its own levels.

The statements are text for DuckDB alone, the workbench: there are hundreds of them, and a tree takes nearly as long to
build and render as to be asked. They hold no name and no value of the user's.
"""

from duckanon.local.placement import Placement, find_placement

__all__ = ["Placement", "find_placement"]
