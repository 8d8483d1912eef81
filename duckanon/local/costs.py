"""What the local methods count costs in: whole numbers, so that sums are equal whatever order they were added in."""

from __future__ import annotations

UNIT = 1_000_000  # a cell at the top, of a column of importance 1
