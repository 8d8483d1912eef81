"""The role that a column is proposed for, and why. What is in doubt is a quasi-identifier; nothing is ever kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from duckanon.clues.names import NAMING
from duckanon.clues.patterns import DOTTED_DATE, IDENTIFYING, ISO_DATE, NUMBER, SLASHED_DATE
from duckanon.proposal.columns import ColumnProfile
from duckanon.proposal.spread import Form

QUASI_IDENTIFIER, SENSITIVE, IDENTIFIER, DROP = "quasi_identifier", "sensitive", "identifier", "drop"

_MOST = 0.8  # of the values have a form
_NEARLY_ALL = 0.9  # of the rows are alone with their value
_DENSE = 1.5  # numbers up to so far apart, on average, were counted on
_LONG = 60  # characters of a text that somebody has written
_LONG_NUMBER = 1e9
_SEVERAL = 20  # values of a column that could name people


@dataclass(frozen=True)
class Role:
    """`todo`: a person has to decide."""

    name: str
    why: str
    todo: bool = False


def role_of(profile: ColumnProfile) -> Role:
    """By what is in the column first, then by its name."""
    return next(_reasons(profile))


def _reasons(profile: ColumnProfile) -> Iterator[Role]:
    if profile.distinct == 0:
        yield Role(DROP, "has no value at all")
    for pattern in IDENTIFYING if _is_words(profile) else ():
        if profile.peek.share(pattern) >= _MOST:
            yield Role(IDENTIFIER, pattern.called)
    yield from _by_name(profile)
    if _is_free_text(profile):
        yield Role(DROP, "free text, in which anything may stand")
    if _is_own_text(profile):
        yield Role(IDENTIFIER, "nearly every row has a text of its own")
    if _is_long(profile):
        yield Role(IDENTIFIER, "long numbers, and nearly every row has its own")
    if _is_counted_on(profile):
        yield Role(IDENTIFIER, "numbers that count the rows")
    if profile.rows > 1 and profile.alone_share >= _NEARLY_ALL:
        yield Role(QUASI_IDENTIFIER, "nearly every row has a value of its own")
    if profile.distinct == 1:
        yield Role(QUASI_IDENTIFIER, "the same value in every row")
    yield Role(QUASI_IDENTIFIER, "others may know it")


def _by_name(profile: ColumnProfile) -> Iterator[Role]:
    said, several = profile.meanings, profile.distinct >= min(_SEVERAL, profile.rows / 2)
    if "person" in said and profile.is_text and profile.form is None:
        yield Role(IDENTIFIER, "by its name the name of a person")
    for meaning, why in NAMING.items():
        if meaning in said and several:
            yield Role(IDENTIFIER, f"by its name {why}")
    if "id" in said and "who" in said and several:
        yield Role(IDENTIFIER, "by its name the number of a person")
    if "id" in said and profile.alone_share >= 0.5 and not _is_fraction(profile):
        yield Role(IDENTIFIER, "by its name a number, and different in most rows")
    if "sensitive" in said and not _is_free_text(profile) and not _is_own_text(profile):
        yield Role(SENSITIVE, "by its name what nobody should learn of a person", todo=True)


def _is_own_text(profile: ColumnProfile) -> bool:
    """A text that nearly every row has for itself."""
    texts = profile.is_text and profile.form is None and profile.distinct > 1
    return texts and profile.alone_share >= _NEARLY_ALL


def _is_fraction(profile: ColumnProfile) -> bool:
    return profile.spread is not None and not profile.spread.whole


def _is_words(profile: ColumnProfile) -> bool:
    """Whether the texts are no numbers or days, which look like telephones."""
    if not profile.is_text:
        return False
    return not any(profile.peek.share(p) >= _MOST for p in (NUMBER, ISO_DATE, DOTTED_DATE, SLASHED_DATE))


def _is_free_text(profile: ColumnProfile) -> bool:
    many = profile.distinct_share >= 0.3
    spoken = profile.peek.longest >= _LONG and profile.peek.spaced >= 0.5
    return profile.is_text and profile.form is None and many and (spoken or ("notes" in profile.meanings and many))


def _is_long(profile: ColumnProfile) -> bool:
    """Whole numbers of ten digits or more: of accounts, devices, telephones."""
    spread = profile.spread
    whole = spread is not None and spread.whole and spread.quantiles[0.5] >= _LONG_NUMBER
    numbers = profile.form in (Form.NUMBER, Form.TEXT_NUMBER)
    return numbers and whole and profile.rows > _SEVERAL and profile.alone_share >= _NEARLY_ALL


def _is_counted_on(profile: ColumnProfile) -> bool:
    """Whole numbers without gaps, as a database gives them to new rows."""
    spread = profile.spread
    if spread is None or profile.form not in (Form.NUMBER, Form.TEXT_NUMBER) or not spread.whole:
        return False
    unique = profile.rows > _SEVERAL and profile.alone_share >= 0.99
    return unique and spread.reach <= _DENSE * profile.rows
