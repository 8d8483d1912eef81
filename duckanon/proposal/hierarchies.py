"""The hierarchy that is proposed for a quasi-identifier, and why."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from duckanon.clues.patterns import CODE, DIGITS, DOTTED_DATE, ICD, ISO_MOMENT, LEADING_ZERO, POSTAL
from duckanon.engine.types import Family
from duckanon.proposal.columns import FEW, ColumnProfile
from duckanon.proposal.listed import ListedHierarchy, by_frequency, like_ready_made
from duckanon.proposal.numbers import cuts, is_skewed, widths
from duckanon.proposal.ready_made import ReadyMade
from duckanon.proposal.spread import Form, Spread
from duckanon.toml.writing import written_value

_MOST = 0.9  # of the texts have a form
_CODES = 12  # characters of the longest code
_YEAR = 365.25


@dataclass(frozen=True)
class ProposedHierarchy:
    """A computed one as the policy has it, such as {"intervals": [5, 10]}, or a file; neither: the value, then the top.
    `gaps`: how many rows have a value that it does not know."""

    why: str
    spec: dict[str, Any] | None = None
    file: ListedHierarchy | None = None
    gaps: int = 0
    dateformat: str | None = None  # of a CSV file

    @property
    def toml(self) -> str | None:
        """What a policy says, but for the path of a file."""
        return written_value(self.spec) if self.spec else None


def propose_hierarchy(profile: ColumnProfile, k: int) -> ProposedHierarchy:
    if profile.distinct <= 1:
        return ProposedHierarchy("only one value")
    if profile.ready_made is not None and profile.ready_made.codes:
        return _ready_made(profile.ready_made)
    if (code := _code(profile)) is not None:
        return code
    if profile.spread is not None:
        measured = _days(profile, profile.spread) if _is_day(profile) else _numbers(profile, profile.spread, k)
        if measured is not None:
            return measured
    if profile.distinct <= FEW:
        return ProposedHierarchy(f"each of {profile.distinct} values by itself, then none of them")
    if profile.column.type.family is Family.TIME_OF_DAY:
        return ProposedHierarchy("hours", {"mask": [2]})
    return _listed(profile)


def _is_day(profile: ColumnProfile) -> bool:
    return profile.form in (Form.DAY, Form.TEXT_DAY, Form.PARTED_DAY)


# -- numbers ------------------------------------------------------------------------------------------


def _numbers(profile: ColumnProfile, spread: Spread, k: int) -> ProposedHierarchy | None:
    if profile.distinct <= 3 and spread.whole:
        return None
    if profile.meanings & {"latitude", "longitude"} and spread.quantiles[0.0] >= -180 and spread.quantiles[1.0] <= 180:
        return _computed("coordinates: to a kilometre or so, to ten, to a hundred", "intervals", _DEGREES, profile)
    if "postal" in profile.meanings and spread.whole and spread.quantiles[0.5] >= 1000:
        return _computed("postal codes: fewer and fewer digits", "intervals", [10, 100, 1000, 10000], profile)
    if is_skewed(spread) and (levels := cuts(spread, k)):
        why = "a few lie far above most: ranges of about as many rows"
        return _computed(why, "cuts", [list(map(_plain, level)) for level in levels], profile)
    if chosen := widths(spread):
        return _computed("ranges that fit how far the numbers spread", "intervals", list(map(_plain, chosen)), profile)
    return None


_DEGREES = [0.01, 0.1, 1, 10]


def _computed(why: str, kind: str, value: list[Any], profile: ColumnProfile) -> ProposedHierarchy:
    return ProposedHierarchy(why, {kind: value}, gaps=profile.strange)


def _plain(number: Decimal) -> int | float:
    return int(number) if number == int(number) else float(number)


# -- days ---------------------------------------------------------------------------------------------


def _days(profile: ColumnProfile, spread: Spread) -> ProposedHierarchy | None:
    years = spread.typical / _YEAR
    moment = profile.column.type.family is Family.MOMENT or profile.peek.share(ISO_MOMENT) > 0
    if years < 0.2:
        units = ["week"]
    elif years < 3:
        units = ["month", "quarter", "year"]
    elif years < 12:
        units = ["month", "quarter", "year", "decade"]
    else:
        units = ["month", "year", "decade", *(["century"] if years > 150 else [])]
    units = ["day", *units] if moment else units
    dateformat = _dateformat(profile, spread) if profile.form is Form.PARTED_DAY else None
    if profile.form is Form.PARTED_DAY and (dateformat is None or profile.strange):
        return ProposedHierarchy("dates of which day and month cannot be told apart: say source.csv.dateformat")
    return ProposedHierarchy(f"days over {_span(years)}", {"dates": units}, None, profile.strange, dateformat)


def _span(years: float) -> str:
    """So roughly that nobody's own day shows."""
    if years < 0.2:
        return "weeks"
    return "a year or two" if years < 3 else "years" if years < 12 else "decades"


def _dateformat(profile: ColumnProfile, spread: Spread) -> str | None:
    if profile.peek.share(DOTTED_DATE) >= _MOST and not spread.second_above_12:
        return "%d.%m.%Y"
    if spread.first_above_12 == spread.second_above_12:
        return None
    return "%d/%m/%Y" if spread.first_above_12 else "%m/%d/%Y"


# -- texts --------------------------------------------------------------------------------------------


def _code(profile: ColumnProfile) -> ProposedHierarchy | None:
    """Codes of a form whose first characters say the most."""
    peek = profile.peek
    if not profile.is_text or profile.distinct <= FEW or peek.longest > _CODES:
        return None
    if peek.share(ICD) >= _MOST and peek.longest > 2:
        return _mask([3, 1] if peek.longest > 3 else [2, 1], "ICD codes: category, then chapter letter")
    postal = peek.share(POSTAL) >= _MOST or ("postal" in profile.meanings and peek.share(DIGITS) >= _MOST)
    fixed = peek.shortest == peek.longest and peek.longest >= 3
    digits = peek.share(DIGITS) >= _MOST and (peek.share(LEADING_ZERO) > 0 or not profile.column.written)
    if postal or (fixed and (digits or (peek.share(CODE) >= _MOST and profile.form is None))):
        kept = list(range(peek.longest - 1, 0, -1))
        kept = kept if len(kept) <= 4 else [*kept[:3], 1] if postal else kept[:: len(kept) // 3][:4]
        return _mask(
            kept, "postal codes: fewer and fewer characters" if postal else "codes of one length: their beginnings"
        )
    return None


def _mask(kept: list[int], why: str) -> ProposedHierarchy:
    return ProposedHierarchy(why, {"mask": kept})


def _listed(profile: ColumnProfile) -> ProposedHierarchy:
    found = profile.ready_made
    if found is not None and (found.codes or not found.unknown):
        return _ready_made(found)
    listed = like_ready_made(found, profile) if found is not None else by_frequency(profile) if profile.listed else None
    if listed is None:
        return ProposedHierarchy("nothing ready-made fits: each value by itself, then none of them")
    known = sum(n for value, n in profile.shared if value in listed.values)
    return ProposedHierarchy(listed.why, file=listed, gaps=profile.counts.filled - known)


def _ready_made(found: ReadyMade) -> ProposedHierarchy:
    many = "most" if found.unknown else "all"
    why = f"{many} values are those of the ready-made {found.name}"
    return ProposedHierarchy(why, {"builtin": found.name}, gaps=found.unknown)
