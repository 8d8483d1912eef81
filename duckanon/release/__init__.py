"""Tables, views, files and folders: built beside their place, verified, then let into it whole or not at all."""

from duckanon.release.rows import (
    AS_THEY_ARE,
    Dictionaries,
    Labels,
    Shown,
    labelled_cells,
    released_rows,
    repeated,
    repeated_rows,
)

__all__ = [
    "AS_THEY_ARE",
    "Dictionaries",
    "Labels",
    "Shown",
    "labelled_cells",
    "released_rows",
    "repeated",
    "repeated_rows",
]
