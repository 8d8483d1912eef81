"""CSV sources: every field is the text that it was, but for the columns that a rule of the policy must interpret."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass

from duckanon.engine.duckdb.files import escaped_path, text
from duckanon.engine.duckdb.source_files import Fetch, SourceFiles
from duckanon.engine.relation import Reading
from duckanon.errors import EngineError
from duckanon.policy import CsvOptions
from duckanon.query.names import folded, quoted

_DELIMITERS = ",;\t|"
_WHOLE = r"\s*[+-]?[0-9]{{1,{digits}}}\s*"
_NUMBER = r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*"
_DECIMAL = r"\s*[+-]?[0-9]*(\.[0-9]{{0,{places}}}0*)?\s*"
_DATE = r"\s*[0-9]{4}-[0-9]{2}-[0-9]{2}\s*"
_MOMENT = r"\s*[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?Z?)?\s*"
_ANCHOR = "duckanon: there is always one column"
_TIME_OF_DAY = re.compile(r"%[-]?[HIMSfgnpzZcX]")


@dataclass(frozen=True)
class Form:
    """How a text is written that is a value of a type: SQL over the text {v}."""

    type: str
    fits: str
    value: str
    exact: bool = False  # the value is written as the text was, so that reading it changes nothing


def _written(type_: str, pattern: str) -> Form:
    """Values of a type that are written in one way; what the database would accept beyond that is no such value."""
    value = f"TRY_CAST(trim({{v}}) AS {type_})"
    return Form(type_, f"(regexp_full_match({{v}}, {text(_braced(pattern))}) AND {value} IS NOT NULL)", value)


def _double() -> Form:
    """Numbers that survive: the DOUBLE, written out, has the digits of the text, zeros around them apart."""
    form = _written("DOUBLE", _NUMBER)
    kept = f"isfinite({form.value}) AND {_digits('{v}')} = {_digits(f'CAST({form.value} AS VARCHAR)')}"
    return Form(form.type, f"({form.fits} AND {kept})", form.value)


def _digits(number: str) -> str:
    mantissa = f"regexp_replace({number}, '[eE].*', '')"
    return f"regexp_replace(regexp_replace({mantissa}, '[^0-9]', '', 'g'), '^0+|0+$', '', 'g')"


def _braced(pattern: str) -> str:
    """For a template: {v} alone is to be filled in."""
    return pattern.replace("{", "{{").replace("}", "}}")


_NUMBERS = (
    _written("BIGINT", _WHOLE.format(digits=18)),
    _written("HUGEINT", _WHOLE.format(digits=37)),
    _double(),
)
# For a hierarchy that computes on the text itself, so that no field shapes how the others are shown.
_TEXT = Form("VARCHAR", "true", "{v}")
_TEXT_OF_NUMBER = Form("VARCHAR", _written("DECIMAL(38, 18)", _NUMBER).fits, "{v}")
_DATES = (_written("DATE", _DATE), _written("TIMESTAMP", _MOMENT))


def _unchanged(form: Form) -> Form:
    """Only what is written as the database itself writes it; not an empty text, which would become NULL."""
    return Form(form.type, f"({form.fits} AND CAST({form.value} AS VARCHAR) = {{v}})", form.value, exact=True)


_UNCHANGED_NUMBERS = tuple(_unchanged(_NUMBERS[position]) for position in (0, 2))


def _dates(dateformat: str) -> tuple[Form]:
    parsed = f"TRY_STRPTIME({{v}}, {text(_braced(dateformat))})"
    kind = "TIMESTAMP" if _TIME_OF_DAY.search(dateformat) else "DATE"
    fits = f"({parsed} IS NOT NULL AND year({parsed}) >= 1000)"  # of %Y, which would read 20 as the year 20
    return (Form(kind, fits, f"CAST({parsed} AS {kind})"),)


def _form_of(type_: str, dateformat: str | None) -> Form:
    """What `source.csv.types` says of a column."""
    if type_ in ("DATE", "TIMESTAMP"):
        form = _dates(dateformat)[0] if dateformat else _DATES[type_ == "TIMESTAMP"]
        value = f"CAST({form.value} AS {type_})"
        return Form(type_, f"({form.fits} AND {value} = {form.value})", value)  # no time of day is cut off
    if type_ == "DOUBLE":
        return _NUMBERS[2]
    if type_.startswith("DECIMAL"):
        return _written(type_, _DECIMAL.format(places=re.findall(r"[0-9]+", type_)[1]))
    return _written(type_, ".*" if type_ == "BOOLEAN" else _WHOLE.format(digits=38))


@dataclass(frozen=True)
class Dialect:
    """How the files are written: all that read_csv is told, so that it guesses nothing but where lines end."""

    options: CsvOptions
    delimiter: str

    def __str__(self) -> str:
        said = {
            "header": str(self.options.header).lower(),
            "delim": text(self.delimiter),
            "quote": text(self.options.quote),
            "escape": text(self.options.quote),
            "nullstr": f"[{', '.join(map(text, self.options.null))}]",
            "allow_quoted_nulls": "false",
            "encoding": text(self.options.encoding),
            "strict_mode": "true",
            "skip": "0",
            "comment": "''",
        }
        return ", ".join(f"{name} = {value}" for name, value in said.items())

    def cells(self, line: str) -> int:
        return _cells(line, self.delimiter, self.options)


def dialect(files: SourceFiles, options: CsvOptions, fetch: Fetch) -> Dialect:
    delimiter = options.delimiter or _delimiter(files, options, fetch)
    if any(delimiter in null for null in options.null):
        raise EngineError(f"source.file: {files.named}: source.csv.null holds the delimiter")
    return Dialect(options, delimiter)


def _delimiter(files: SourceFiles, options: CsvOptions, fetch: Fetch) -> str:
    """The one that parts the first line into the most columns."""
    where, line = f"source.file: {files.named}", opening_line(files.paths[0], options, fetch)
    if not line:
        raise EngineError(f"{where}: the file is empty, or begins with an empty line")
    try:
        return max(_DELIMITERS, key=lambda sign: _cells(line, sign, options))
    except csv.Error:
        raise EngineError(f"{where}: the first line cannot be parsed; say the delimiter in source.csv") from None


def opening_line(path: str, options: CsvOptions, fetch: Fetch) -> str | None:
    said = f"auto_detect = false, header = false, encoding = {text(options.encoding)}, delim = '\x01', quote = '', "
    said += "escape = '', skip = 0, comment = '', strict_mode = false, columns = {'line': 'VARCHAR'}"
    lines = fetch(f"SELECT line FROM read_csv({text(escaped_path(path))}, {said}) LIMIT 1")
    return lines[0][0] if lines else None


def _cells(line: str, delimiter: str, options: CsvOptions) -> int:
    quote = {"quotechar": options.quote} if options.quote else {"quoting": csv.QUOTE_NONE}
    return len(next(csv.reader([line], delimiter=delimiter, **quote)))


def csv_columns(path: str, said: Dialect, fetch: Fetch) -> list[str]:
    """The columns inside one file."""
    # Lines that do not fit are said when all are read: with their number.
    options = f"{said}, all_varchar = true, ignore_errors = true, hive_partitioning = false"
    inside = f"read_csv({text(escaped_path(path))}, {options})"
    return [name for name, *_ in fetch(f"DESCRIBE SELECT * FROM {inside}")]


def texts(files: SourceFiles, said: Dialect) -> str:
    """A query for all rows of the files, every field a text; its column is the one that the header says when it is
    read."""
    return _reading(files, str(said))


def later_texts(files: SourceFiles, said: Dialect, inside: list[str], columns: list[str]) -> str:
    """The same for files as they will be one day: these `columns`, wherever they stand by then. One that is gone is an
    error, and neither that nor a line which cannot be read shows a word of what the files hold.

    `inside`: the columns that are no folders' names.
    """
    # An error lists the columns that there are. A header may be lost, and they be the values of a person.
    there = f"lower(name) IN ({', '.join(f'lower({text(name)})' for name in [_ANCHOR, *columns])})"
    every = f"SELECT *, 0 AS {quoted(_ANCHOR)} FROM ({_reading(files, f'{said}, ignore_errors = true')})"
    known = f"SELECT COLUMNS(lambda name: {there}) FROM ({every})"
    query = f"SELECT {', '.join(map(quoted, columns))} FROM ({known})"
    if files.is_one:
        return query
    # One of several files without its header has none of the columns: its lines are nobody's.
    return f"{query} WHERE {' OR '.join(f'{quoted(name)} IS NOT NULL' for name in inside)}"


def _reading(files: SourceFiles, said: str) -> str:
    options = [f"[{', '.join(map(text, files.patterns))}]", said, "all_varchar = true"]
    return files.select(options if files.is_one else [*options, "union_by_name = true"], "hive_types_autocast = false")


@dataclass(frozen=True)
class Interpreted:
    """The columns that are more than texts: the form of each, and how many fields are not written so."""

    forms: dict[str, Form]
    misfits: dict[str, int]  # of columns that stay texts, though a rule asks for more
    said: frozenset[str]  # the columns whose type the policy says, folded

    def texts(self, columns: list[str]) -> frozenset[str]:
        """The columns that nothing but a hierarchy may interpret."""
        plain = (name for name in columns if self.forms.get(name, _TEXT) is _TEXT)
        return frozenset(name for name in plain if folded(name) not in self.said)

    def query(self, source: str, columns: list[str], strict: bool) -> str:
        """The rows of `source` with these columns read. Not `strict`: those are left out in which a field that was not
        there before is not written as the others."""
        read = [f"{form.value.format(v=_field(name, form))} AS {quoted(name)}" for name, form in self.forms.items()]
        query = f"SELECT {', '.join(map(quoted, columns))} FROM {source}"
        if read:
            query = f"SELECT * REPLACE ({', '.join(read)}) FROM {source}"
        if read and not strict:
            fits = (_good(name, form) for name, form in self.forms.items())
            query += f" WHERE {' AND '.join(fits)}"
        return query


def interpret(source: str, columns: list[str], reading: Reading, fetch: Fetch) -> Interpreted:
    """Decide how the columns are read that a rule needs as numbers or dates: by the first form that all fields have."""
    chosen: dict[str, Form] = {}
    misfits: dict[str, int] = {}
    for name, forms in _wanted(columns, reading).items():
        found = _misfits(source, name, forms, fetch) if forms != (_TEXT,) else (0,)
        good = [form for form, fields in zip(forms, found, strict=True) if not fields]
        if good:
            chosen[name] = good[0] if good[0].type != "VARCHAR" else _TEXT
        elif not forms[0].exact:
            misfits[name] = min(found)
    return Interpreted(chosen, misfits, frozenset(map(folded, reading.csv.types)))


def _misfits(source: str, name: str, forms: tuple[Form, ...], fetch: Fetch) -> tuple[int, ...]:
    """How many fields are not written in each of the forms. A text that many fields have is looked at once."""
    counted = f"SELECT {quoted(name)}, count(*) AS n FROM {source} GROUP BY {quoted(name)}"
    sums = [f"CAST(coalesce(sum(CASE WHEN NOT {_good(name, form)} THEN n END), 0) AS BIGINT)" for form in forms]
    (found,) = fetch(f"SELECT {', '.join(sums)} FROM ({counted})")
    return found


def _wanted(columns: list[str], reading: Reading) -> dict[str, tuple[Form, ...]]:
    """The forms that each column may have, in their order."""
    said = {folded(name): type_ for name, type_ in reading.csv.types.items()}
    asked = (reading.numbers, reading.dates, reading.ranges, reading.figures)
    numbers, dates, ranges, figures = ({folded(name) for name in names} for names in asked)
    formatted = _dates(reading.csv.dateformat) if reading.csv.dateformat else ()
    wanted: dict[str, tuple[Form, ...]] = {}
    for name in columns:
        key = folded(name)
        if key in said:
            wanted[name] = (_form_of(said[key], reading.csv.dateformat),) if said[key] != "VARCHAR" else ()
        elif key in numbers:
            wanted[name] = _NUMBERS
        elif key in dates:
            wanted[name] = formatted or (_TEXT,)
        elif key in ranges:
            wanted[name] = (_TEXT_OF_NUMBER, *formatted, _TEXT) if formatted else (_TEXT,)
        elif key in figures:
            wanted[name] = _UNCHANGED_NUMBERS
    return {name: forms for name, forms in wanted.items() if forms}


def _good(name: str, form: Form) -> str:
    field = _field(name, form)
    return f"({field} IS NULL OR {form.fits.format(v=field)})"


def _field(name: str, form: Form) -> str:
    """In a column of numbers or dates an empty text says as little as NULL."""
    return quoted(name) if form.exact else f"nullif({quoted(name)}, '')"
