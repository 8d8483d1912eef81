"""Texts that stand for no value in a CSV file, such as NA among numbers."""

from __future__ import annotations

from dataclasses import replace

from duckanon.policy import CsvOptions
from duckanon.proposal.columns import ColumnProfile
from duckanon.proposal.spread import Form

_MARKS = ("na", "n/a", "#n/a", "null", "nan", "none", "-", "--", "?", ".")


def with_null_marks(options: CsvOptions, profiles: list[ColumnProfile]) -> tuple[CsvOptions, list[ColumnProfile]]:
    """The marks that are all that keeps columns from being numbers or days, said in the policy. Not where the same text
    is among the words of another column: NA is Namibia, too."""
    found = {
        profile.index: _marks(profile) for profile in profiles if profile.form in (Form.TEXT_NUMBER, Form.TEXT_DAY)
    }
    words = {value for profile in profiles if profile.form is None for value, _ in profile.shared}
    read = {index: marks for index, marks in found.items() if marks and not marks & words}
    marks = sorted(set().union(*read.values()))
    if not marks:
        return options, profiles
    shown = [replace(profile, strange=0) if profile.index in read else profile for profile in profiles]
    return replace(options, null=(*options.null, *marks)), shown


def _marks(profile: ColumnProfile) -> frozenset[str]:
    """Those that all rows have which say no number or day; none where something else is among them."""
    marks = {value: n for value, n in profile.shared if value.lower() in _MARKS}
    return frozenset(marks) if profile.strange and sum(marks.values()) == profile.strange else frozenset()
