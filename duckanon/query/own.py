"""Functions of our own, for what sqlglot has no node, by their names in a tree: every dialect has words for them, or
refuses them.

No class of sqlglot's is inherited from. Where it is compiled (`sqlglot[c]`), none can be.
"""

from __future__ import annotations

from enum import StrEnum

from sqlglot import exp


class Own(StrEnum):
    """What `duckanon/query/functions.py` builds."""

    FINITE_NUMBER = "FINITE_NUMBER"
    FINITE_DAY = "FINITE_DAY"
    FLOAT_TEXT = "FLOAT_TEXT"
    DAY_TEXT = "DAY_TEXT"
    BYTE_ORDER = "BYTE_ORDER"
    EACH_BELOW = "EACH_BELOW"
    ROW_HASH = "ROW_HASH"
    TEXT_DIGEST = "TEXT_DIGEST"
    URL_ENCODED = "URL_ENCODED"
    COMPOSED = "COMPOSED"
    WITHOUT_ACCENTS = "WITHOUT_ACCENTS"
    KEYED_HASH = "KEYED_HASH"

    def of(self, *parts: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this=self.value, expressions=[part.copy() for part in parts])


OWN = frozenset(own.value for own in Own)
