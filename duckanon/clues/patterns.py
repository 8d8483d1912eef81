"""What the values of a column look like: forms that name people or places, in regular expressions that every warehouse
understands."""

from __future__ import annotations

from dataclasses import dataclass

_ISO = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_HEX = "[0-9A-Fa-f]"


@dataclass(frozen=True)
class Pattern:
    """A form of texts; `identifies`: whoever has such a value is known by it."""

    name: str
    called: str  # of several values, in words
    expression: str
    identifies: bool = False


def _any(*forms: str) -> str:
    return "|".join(f"^{form}$" for form in forms)


_NATIONAL = (
    "[0-9]{3}-[0-9]{2}-[0-9]{4}",  # US
    "[0-9]{6,8}[-+A][0-9]{3}[0-9A-Z]",  # Sweden, Denmark, Finland
    "756[.][0-9]{4}[.][0-9]{4}[.][0-9]{2}",  # Switzerland
    "[A-Z]{6}[0-9]{2}[A-Z][0-9]{2}[A-Z][0-9]{3}[A-Z]",  # Italy
    "[0-9XYZ][0-9]{7}[A-Z]",  # Spain
    "[0-9]{3}[.][0-9]{3}[.][0-9]{3}-[0-9]{2}",  # Brazil
    "[A-Z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]",  # United Kingdom
    "[12] ?[0-9]{2} ?[0-9]{2} ?[0-9AB]{2} ?[0-9]{3} ?[0-9]{3}( ?[0-9]{2})?",  # France
    "[0-9]{2} ?[0-9]{6} ?[A-Z] ?[0-9]{3}",  # Germany
)
_POSTAL = (
    "[A-Z]{1,2}[0-9][0-9A-Z]? ?[0-9][A-Z]{2}",  # United Kingdom
    "[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9]",  # Canada
    "[0-9]{4} ?[A-Z]{2}",  # the Netherlands
    "[0-9]{5}-[0-9]{3,4}",  # US, Brazil
    "[0-9]{4}-[0-9]{3}",  # Portugal
    "[0-9]{2}-[0-9]{3}",  # Poland
)

# Numbers and dates first: what is one of them is no telephone.
NUMBER = Pattern("number", "numbers", _any(" *[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)? *"))
ISO_DATE = Pattern("iso_date", "dates", _any(f" *{_ISO}([T ][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]+)?)?Z?)? *"))
ISO_MOMENT = Pattern("iso_moment", "moments", _any(f" *{_ISO}[T ][0-9:.]+Z? *"))
DOTTED_DATE = Pattern("dotted_date", "dates", _any("[0-9]{1,2}[.][0-9]{1,2}[.][0-9]{4}"))
SLASHED_DATE = Pattern("slashed_date", "dates", _any("[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}"))
LEADING_ZERO = Pattern("leading_zero", "codes", _any("0[0-9]+"))
DIGITS = Pattern("digits", "codes", _any("[0-9]+"))
CODE = Pattern("code", "codes", _any("[A-Za-z0-9][A-Za-z0-9./-]*[0-9][A-Za-z0-9./-]*"))
ICD = Pattern("icd", "ICD codes", _any("[A-Z][0-9][0-9A-Z]([.]?[0-9A-Z]{1,4})?"))
POSTAL = Pattern("postal", "postal codes", _any(*_POSTAL))
IDENTIFYING = (
    Pattern("email", "e-mail addresses", _any("[^@ ]+@[^@ ]+[.][A-Za-z]{2,}"), True),
    Pattern("uuid", "UUIDs", _any(f"{_HEX}{{8}}-({_HEX}{{4}}-){{3}}{_HEX}{{12}}"), True),
    Pattern("iban", "IBANs", _any("[A-Z]{2}[0-9]{2} ?[A-Z0-9]{4} ?[0-9][A-Z0-9 ]{6,30}"), True),
    Pattern("card", "card numbers", _any("[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{3,4}"), True),
    Pattern("national", "national numbers", _any(*_NATIONAL), True),
    Pattern("mac", "network addresses", _any(f"({_HEX}{{2}}[:-]){{5}}{_HEX}{{2}}"), True),
    Pattern(
        "ip",
        "network addresses",
        _any("([0-9]{1,3}[.]){3}[0-9]{1,3}", f"({_HEX}{{0,4}}:){{4,7}}{_HEX}{{0,4}}"),
        True,
    ),
    Pattern(
        "phone",
        "telephone numbers",
        _any("[+][0-9][0-9 ()./-]{6,18}", "[(]?0?[0-9]{2,5}[)]?[ /.-]+[0-9][0-9 .-]{3,14}"),
        True,
    ),
    Pattern("url", "web addresses", "^https?://", True),
    Pattern("place", "coordinates", _any("-?[0-9]{1,3}[.][0-9]{2,}[,; ]+-?[0-9]{1,3}[.][0-9]{2,}"), True),
)  # fmt: skip
PATTERNS = (
    *(NUMBER, ISO_DATE, ISO_MOMENT, DOTTED_DATE, SLASHED_DATE, LEADING_ZERO, DIGITS, CODE, ICD, POSTAL),
    *IDENTIFYING,
)
