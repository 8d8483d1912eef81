"""CSV sources: every field is the text that it was, but for the columns that a rule of the policy must interpret."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass

from duckanon.engine import Reading
from duckanon.engine.files import escaped_path, text
from duckanon.engine.source_files import Fetch, SourceFiles
from duckanon.errors import EngineError
from duckanon.policy import CsvOptions
from duckanon.query.names import folded, quoted

_DELIMITERS = ",;\t|"
_WHOLE = r"\s*[+-]?[0-9]{{1,{digits}}}\s*"
_NUMBER = r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*"
_DECIMAL = r"\s*[+-]?[0-9]*(\.[0-9]{{0,{places}}}0*)?\s*"
_DATE = r"\s*[0-9]{4}-[0-9]{2}-[0-9]{2}\s*"
_MOMENT = r"\s*[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?Z?)?\s*"
_TIME_OF_DAY = re.compile(r"%[-]?[HIMSfgnpzZcX]")


@dataclass(frozen=True)
class Form:
    """How a text is written that is a value of a type: SQL over the text {v}."""

    type: str
    fits: str
    value: str
    exact: bool = False  # the value is written as the text was, so that reading it changes nothing


def _written(type_: str, pattern: str, finite: bool = False) -> Form:
    """Values of a type that are written in one way; what the database would accept beyond that is no such value."""
    value = f"TRY_CAST(trim({{v}}) AS {type_})"
    good = f"isfinite({value})" if finite else f"{value} IS NOT NULL"
    return Form(type_, f"(regexp_full_match({{v}}, {text(_braced(pattern))}) AND {good})", value)


def _braced(pattern: str) -> str:
    """For a template: {v} alone is to be filled in."""
    return pattern.replace("{", "{{").replace("}", "}}")


_NUMBERS = (
    _written("BIGINT", _WHOLE.format(digits=18)),
    _written("HUGEINT", _WHOLE.format(digits=37)),
    _written("DOUBLE", _NUMBER, finite=True),
)
_DATES = (_written("DATE", _DATE), _written("TIMESTAMP", _MOMENT))


def _unchanged(form: Form) -> Form:
    """Only what is written as the database itself writes it; not an empty text, which would become NULL."""
    return Form(form.type, f"({form.fits} AND CAST({form.value} AS VARCHAR) = {{v}})", form.value, exact=True)


_UNCHANGED_NUMBERS = tuple(_unchanged(_NUMBERS[place]) for place in (0, 2))


def _dates(dateformat: str | None) -> tuple[Form, ...]:
    if dateformat is None:
        return _DATES
    parsed = f"TRY_STRPTIME({{v}}, {text(_braced(dateformat))})"
    kind = "TIMESTAMP" if _TIME_OF_DAY.search(dateformat) else "DATE"
    return (Form(kind, f"{parsed} IS NOT NULL", f"CAST({parsed} AS {kind})"),)


def _form_of(type_: str, dateformat: str | None) -> Form:
    """What `source.csv.types` says of a column."""
    if type_ in ("DATE", "TIMESTAMP"):
        form = _dates(dateformat)[0] if dateformat else _DATES[type_ == "TIMESTAMP"]
        return Form(type_, form.fits, f"CAST({form.value} AS {type_})")
    if type_ == "DOUBLE":
        return _NUMBERS[2]
    if type_.startswith("DECIMAL"):
        return _written(type_, _DECIMAL.format(places=re.findall(r"[0-9]+", type_)[1]))
    return _written(type_, ".*" if type_ == "BOOLEAN" else _WHOLE.format(digits=38))


def dialect(files: SourceFiles, options: CsvOptions, fetch: Fetch) -> str:
    """What read_csv is told, so that it guesses nothing."""
    delimiter = options.delimiter or _delimiter(files, options, fetch)
    if any(delimiter in null for null in options.null):
        raise EngineError(f"source.file: {files.named}: source.csv.null holds the delimiter")
    said = {
        "header": str(options.header).lower(),
        "delim": text(delimiter),
        "quote": text(options.quote),
        "escape": text(options.quote),
        "nullstr": f"[{', '.join(map(text, options.null))}]",
        "allow_quoted_nulls": "false",
        "encoding": text(options.encoding),
        "strict_mode": "true",
        "skip": "0",
        "comment": "''",
    }
    return ", ".join(f"{name} = {value}" for name, value in said.items())


def _delimiter(files: SourceFiles, options: CsvOptions, fetch: Fetch) -> str:
    """The one that parts the first line into the most columns."""
    path, where = files.paths[0], f"source.file: {files.named}"
    said = f"auto_detect = false, header = false, encoding = {text(options.encoding)}, delim = '\x01', quote = '', "
    said += "escape = '', skip = 0, comment = '', strict_mode = false, columns = {'line': 'VARCHAR'}"
    lines = fetch(f"SELECT line FROM read_csv({text(escaped_path(path))}, {said}) LIMIT 1")
    if not lines or not lines[0][0]:
        raise EngineError(f"{where}: the file is empty, or begins with an empty line")
    quote = {"quotechar": options.quote} if options.quote else {"quoting": csv.QUOTE_NONE}
    try:
        cells = {sign: len(next(csv.reader([lines[0][0]], delimiter=sign, **quote))) for sign in _DELIMITERS}
    except csv.Error:
        raise EngineError(f"{where}: the first line cannot be parsed; say the delimiter in source.csv") from None
    return max(_DELIMITERS, key=lambda sign: cells[sign])


def csv_columns(path: str, said: str, fetch: Fetch) -> list[str]:
    """The columns inside one file."""
    # Lines that do not fit are said when all are read: with their number.
    options = f"{said}, all_varchar = true, ignore_errors = true, hive_partitioning = false"
    inside = f"read_csv({text(escaped_path(path))}, {options})"
    return [name for name, *_ in fetch(f"DESCRIBE SELECT * FROM {inside}")]


def texts(files: SourceFiles, said: str, columns: list[str]) -> str:
    """A query for all rows of the files, every field a text. `columns`: those inside the first of them."""
    options = [f"[{', '.join(map(text, files.patterns))}]", said]
    if files.is_one:
        pairs = ", ".join(f"{text(name)}: 'VARCHAR'" for name in columns)
        options += ["auto_detect = false", f"columns = {{{pairs}}}"]
    else:
        options += ["all_varchar = true", "union_by_name = true"]
    return files.select(options, "hive_types_autocast = false")


@dataclass(frozen=True)
class Interpreted:
    """The columns that are more than texts: the form of each, and how many fields are not written so."""

    forms: dict[str, Form]
    misfits: dict[str, int]  # of columns that stay texts, though a rule asks for more

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
        found = _misfits(source, name, forms, fetch)
        good = [form for form, fields in zip(forms, found, strict=True) if not fields]
        if good:
            chosen[name] = good[0]
        elif not forms[0].exact:
            misfits[name] = min(found)
    return Interpreted(chosen, misfits)


def _misfits(source: str, name: str, forms: tuple[Form, ...], fetch: Fetch) -> tuple[int, ...]:
    """How many fields are not written in each of the forms. A text that many fields have is looked at once."""
    counted = f"SELECT {quoted(name)}, count(*) AS n FROM {source} GROUP BY {quoted(name)}"
    sums = [f"CAST(coalesce(sum(CASE WHEN NOT {_good(name, form)} THEN n END), 0) AS BIGINT)" for form in forms]
    (found,) = fetch(f"SELECT {', '.join(sums)} FROM ({counted})")
    return found


def _wanted(columns: list[str], reading: Reading) -> dict[str, tuple[Form, ...]]:
    """The forms that each column may have, in their order."""
    said = {folded(name): type_ for name, type_ in reading.csv.types.items()}
    asked = (reading.numbers, reading.dates, reading.figures)
    numbers, dates, figures = ({folded(name) for name in names} for names in asked)
    wanted: dict[str, tuple[Form, ...]] = {}
    for name in columns:
        key = folded(name)
        if key in said:
            wanted[name] = (_form_of(said[key], reading.csv.dateformat),) if said[key] != "VARCHAR" else ()
        elif key in numbers or key in dates:
            read = _NUMBERS if key in numbers else ()
            wanted[name] = (*read, *(_dates(reading.csv.dateformat) if key in dates else ()))
        elif key in figures:
            wanted[name] = _UNCHANGED_NUMBERS
    return {name: forms for name, forms in wanted.items() if forms}


def _good(name: str, form: Form) -> str:
    field = _field(name, form)
    return f"({field} IS NULL OR {form.fits.format(v=field)})"


def _field(name: str, form: Form) -> str:
    """In a column of numbers or dates an empty text says as little as NULL."""
    return quoted(name) if form.exact else f"nullif({quoted(name)}, '')"


def csv_fault(error: EngineError) -> str:
    """What is wrong with a file that cannot be read, without a word of what stands in it."""
    said = str(error.__cause__ or error)
    line = re.search(r"CSV Error on Line: ([0-9]+)", said)
    where = f"line {line[1]}" if line else "a line"
    if "encoded" in said:
        return f"{where} is not in the encoding that is expected; say it in source.csv.encoding, such as latin-1"
    columns = re.search(r"Expected Number of Columns: ([0-9]+) Found: ([0-9]+)", said)
    if columns:
        return f"{where} has {columns[2]} fields, the first has {columns[1]}; see source.csv.delimiter and quote"
    if "unterminated quote" in said:
        return f"{where} has a quote that is not closed, or not as source.csv.quote says"
    return "not all lines have the same number of fields, or they are not written as source.csv says"
