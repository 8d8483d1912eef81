"""How a value finds its row in a list: in a run by rules that leave no doubt, in a proposal more loosely."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from duckanon.query.expressions import column, sql, text_of
from duckanon.query.functions import extracted, look, replaced, without_accents

_WHOLE = r"^ *([0-9]+)([.]0+)? *$"
_WHOLE_LOOSE = r"^0*([0-9]+)([.,]0+)?$"


@dataclass(frozen=True)
class Matching:
    """By its text; of a list of codes, by what the first group of a pattern holds."""

    pattern: str | None = None  # of all that is a code
    numbers: bool = False  # 18.0 finds 18, whatever type it is of

    def key(self, text: exp.Expr) -> exp.Expr:
        """What level_0 of the list must be, as SQL over the text of a value that is not NULL. What is no code finds
        the empty text."""
        text = _number_or(text, _WHOLE) if self.numbers else text.copy()
        return text if self.pattern is None else extracted(text, self.pattern, 1)

    def loose_key(self, text: exp.Expr) -> exp.Expr:
        """The same with no regard to case, spaces, hyphens and accents, and to zeros around a number. For the workbench
        alone: what it finds is proposed to a person, never released."""
        if self.pattern is not None:
            return self.key(sql("UPPER(TRIM(:text))", text=text))
        looks = replaced(without_accents(look(text)), "[-_/]+", " ")
        return _number_or(looks, _WHOLE_LOOSE)


EXACTLY = Matching()


def _number_or(text: exp.Expr, pattern: str) -> exp.Expr:
    """The digits of a text that is a whole number; any other as it is."""
    return sql("COALESCE(NULLIF(:digits, ''), :text)", digits=extracted(text, pattern, 1), text=text)


def matched_values(values: exp.Table, listing: exp.Table, height: int, matching: Matching) -> exp.Query:
    """Which row of a list (level_0 … level_height, of the workbench) each value of a table (value, n) may mean: its
    text as `value`, its rows as `n`, and the levels of the row; all NULL where it matches none, or several that do not
    have one parent. NULL is not among the values."""
    text, level_0 = text_of(column("value")), column("level_0")
    listed_key = level_0 if matching.pattern is not None else matching.loose_key(level_0)
    keyed = exp.select(level_0, column("level_1"), listed_key.as_("look")).from_(listing.copy())
    only = exp.select("look", sql("MIN(level_0)").as_("level_0")).from_(keyed.subquery("keyed"))
    only = only.group_by("look").having("COUNT(DISTINCT level_1) = 1")
    asked = exp.select(
        text.as_("value"), "n", matching.key(text).as_("exact"), matching.loose_key(text).as_("look")
    ).from_(values.copy())
    asked = asked.where(sql("value IS NOT NULL"))
    found = exp.select("asked.value", "asked.n", sql("COALESCE(listed.level_0, alike.level_0)").as_("level_0"))
    found = found.from_(asked.subquery("asked"))
    found = found.join(exp.alias_(listing.copy(), "listed", table=True), on="listed.level_0 = exact", join_type="left")
    found = found.join(only.subquery("alike"), on="alike.look = asked.look", join_type="left")
    levels = [column(f"level_{level}", "listed") for level in range(height + 1)]
    query = exp.select("found.value", "found.n", *levels).from_(found.subquery("found"))
    on = "listed.level_0 = found.level_0"
    return query.join(exp.alias_(listing.copy(), "listed", table=True), on=on, join_type="left")
