"""What a spreadsheet takes for a formula."""

from __future__ import annotations

import re

# With apostrophes in front one more is written, so that what is read back is what was there.
FORMULA = r"^'*[=+\-@\t\r]"
NUMBER = r"[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?"


def like_a_formula(cell: str) -> bool:
    """A number, and a text that is one, is none."""
    return re.match(FORMULA, cell) is not None and re.fullmatch(NUMBER, cell) is None
