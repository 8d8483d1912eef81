"""Types and columns in words of our own: what a value is, whatever an engine calls it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum, auto

from sqlglot import exp

from duckanon.query.expressions import text_of
from duckanon.query.functions import float_text


class Family(Enum):
    """What the values of a type are."""

    WHOLE = auto()
    DECIMAL = auto()
    FLOAT = auto()
    TEXT = auto()
    DATE = auto()
    MOMENT = auto()
    TIME_OF_DAY = auto()
    BOOLEAN = auto()
    ENUMERATION = auto()
    LIST = auto()
    RECORD = auto()
    OTHER = auto()


@dataclass(frozen=True)
class Type:
    """A type of some engine's: the family decides what can be done with it, the word is for messages and casts."""

    family: Family
    word: str  # as the engine itself says it
    scale: int = 0  # decimals of a DECIMAL
    zoned: bool = False  # written in the time zone of who asks
    text_varies: bool = False  # written as the session of who asks says, its time zone aside
    comparable: bool = True  # values that look different are different
    remedy: str = "cast it in source.query"  # what to do about a column that cannot be released so
    one_text: bool = False  # every engine writes its values as the same texts
    plain: str | None = None  # the same without enumerations in it, which list values that no row need have
    declared: str | None = None  # the word for a whole column of it, its length included; None: a word does not do
    dialect: str | None = None  # whose word it is; None: any engine's

    def __str__(self) -> str:
        return self.word

    @property
    def has_one_text(self) -> bool:
        """Whether nobody who asks can have its values written otherwise."""
        return not (self.zoned or self.text_varies)

    @property
    def is_number(self) -> bool:
        return self.family in (Family.WHOLE, Family.DECIMAL, Family.FLOAT)

    @property
    def is_float(self) -> bool:
        return self.family is Family.FLOAT

    @property
    def is_text(self) -> bool:
        return self.family is Family.TEXT

    @property
    def is_day(self) -> bool:
        """A date, with or without a time."""
        return self.family in (Family.DATE, Family.MOMENT)

    @property
    def is_enumeration(self) -> bool:
        return self.family is Family.ENUMERATION

    @property
    def is_list(self) -> bool:
        return self.family is Family.LIST

    @property
    def is_nested(self) -> bool:
        """Not a single value."""
        return self.family in (Family.LIST, Family.RECORD)

    @property
    def released(self) -> Type:
        """What a release shows of it: of an enumeration texts."""
        if self.plain is None or self.plain == self.word:
            return self
        return replace(self, family=Family.TEXT if self.is_enumeration else self.family, word=self.plain)

    def cast(self, value: exp.Expr) -> exp.Expr:
        """The value as one of this type."""
        return exp.cast(value, self.word, dialect=self.dialect)

    def text(self, value: exp.Expr) -> exp.Expr:
        """A value of this type as the text by which policies and hierarchies name it, on every engine the same."""
        return float_text(value) if self.is_float else text_of(value)


TEXT = Type(Family.TEXT, "VARCHAR", one_text=True, declared="VARCHAR")
INTEGER = Type(Family.WHOLE, "INTEGER", one_text=True, declared="INTEGER")
DOUBLE = Type(Family.FLOAT, "DOUBLE", declared="DOUBLE")
NUMBER_OF_ROWS = Type(Family.WHOLE, "BIGINT", one_text=True, declared="BIGINT")


@dataclass(frozen=True)
class Column:
    """A column as the catalog spells it."""

    name: str
    type: Type
    written: bool = field(default=False, kw_only=True)  # a text of a CSV file, which may stand for a number or a date
