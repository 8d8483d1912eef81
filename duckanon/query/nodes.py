"""Nodes of our own, for what sqlglot has none: their names are the workbench's, and a dialect may have others."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp


class FiniteNumber(exp.Expression, exp.Func):
    """Whether a floating-point number is neither infinite nor NaN."""

    _sql_names: ClassVar[list[str]] = ["ISFINITE"]


class FiniteDay(exp.Expression, exp.Func):
    """Whether a date or a moment is not infinite."""

    _sql_names: ClassVar[list[str]] = ["ISFINITE"]


class FloatText(exp.Expression, exp.Func):
    """A floating-point number as the workbench writes it: 1.0, where others write 1."""


class DayText(exp.Expression, exp.Func):
    """A date as 2024-05-31, whatever the session of who asks would write."""


class ByteOrder(exp.Expression, exp.Func):
    """A text as its bytes sort, whatever the language of the database; which is also the fastest order."""


class OwnFunction(exp.Expression, exp.Func):
    """What only the workbench computes, so far."""


class EachBelow(OwnFunction):
    """In a SELECT list: the row once for every number from 0 that is below a count."""


class RowHash(OwnFunction):
    """A number made of several cells, NULL and all."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}
    is_var_len_args = True
    _sql_names: ClassVar[list[str]] = ["HASH"]


class TextDigest(OwnFunction):
    """A wide number made of a text."""

    _sql_names: ClassVar[list[str]] = ["MD5_NUMBER"]


class UrlEncoded(OwnFunction):
    """A text with the signs of a URL."""

    _sql_names: ClassVar[list[str]] = ["URL_ENCODE"]


class Composed(OwnFunction):
    """A text in which an accent is no sign of its own: Unicode's form NFC."""

    _sql_names: ClassVar[list[str]] = ["NFC_NORMALIZE"]


class WithoutAccents(OwnFunction):
    """A text with plain letters in place of those with accents."""

    _sql_names: ClassVar[list[str]] = ["STRIP_ACCENTS"]


class KeyedHash(OwnFunction):
    """HMAC-SHA-256 of a text, in hexadecimal, with the key in the parameters `inner_pad` and `outer_pad`."""

    _sql_names: ClassVar[list[str]] = ["HMAC_SHA256"]
