"""Reads where a release goes and how: its kind, the options of its file, its ledger and its pseudonyms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from duckanon.policy import FileOptions, Pseudonyms, Release
from duckanon.policy.folder_address import is_folder_address
from duckanon.query.formulas import like_a_formula
from duckanon.query.names import folded
from duckanon.toml import Section
from duckanon.toml.checks import one_character, one_of, text, texts, truth, whole

KINDS = ("table", "view", "parquet", "csv")
COMPRESSIONS = {"parquet": ("snappy", "zstd", "gzip", "uncompressed"), "csv": ("none", "gzip", "zstd")}
ENDINGS = {".gz": "gzip", ".zst": "zstd"}


def read_release(section: Section) -> Release:
    kind = section.get("kind", one_of(*KINDS), "table", required=f"one of {', '.join(KINDS)}")
    to = section.get("to", text, "", required="a name, or a path relative to this file")
    is_address = kind in COMPRESSIONS and "://" in to
    if is_address:
        to = to.rstrip("/")
        _may_be_written(section, kind, to)
    partition_by = tuple(section.get("partition_by", texts, []))
    compression = section.get("compression", one_of(*COMPRESSIONS[kind])) if kind in COMPRESSIONS else None
    named = ENDINGS.get(Path(to).suffix.lower()) if kind == "csv" and not (partition_by or is_address) else None
    if named and compression and compression != named:
        section.fault("compression", f"is {compression}, the name of the file says {named}")
    options = FileOptions(
        partition_by=partition_by,
        compression=compression or named,
        row_group_size=section.get("row_group_size", whole(2048)),
        delimiter=section.get("delimiter", one_character, ","),
        header=section.get("header", truth, True),
        null=section.get("null", _text_or_empty, ""),
        escape_formulas=section.get("escape_formulas", truth, False),
    )
    mode = section.get("mode", one_of("search", "fixed", "monotone"), "search")
    difference = section.get("difference", one_of("ignore", "warn", "refuse"), "warn")
    _fits(section, kind)
    _go_together(section, options)
    section.finish()
    return Release(kind, to, options, mode, difference)


def _may_be_written(section: Section, kind: str, address: str) -> None:
    """By the servers of a warehouse, which have no like of some options. An address that may hold a secret, or mean
    several folders, is refused, and not shown."""
    if not is_folder_address(address):
        what = "is an address with more than a folder in it: a user, a password, an option, a pattern"
        remedy = "no part may begin with . or _ nor hold one of @ ? # % * : [ ] { }; such as s3://bucket/folder"
        section.fault("to", what, remedy)
    for name in ("partition_by", "row_group_size", "escape_formulas"):
        if section.data.get(name):
            section.known.append(name)
            section.fault(name, "is not for folders that a cluster writes", "leave it out, or name a path in to")
    if kind == "csv" and section.data.get("compression") == "zstd":
        section.fault("compression", "is not for folders that a cluster writes", "none or gzip")


def _fits(section: Section, kind: str) -> None:
    """An option that the kind of release does not have is a mistake, not something to ignore."""
    of = {
        "partition_by": ("parquet", "csv"),
        "compression": ("parquet", "csv"),
        "row_group_size": ("parquet",),
        "delimiter": ("csv",),
        "header": ("csv",),
        "null": ("csv",),
        "escape_formulas": ("csv",),
    }
    for name, kinds in of.items():
        if name in section.data and kind not in kinds:
            section.known.append(name)
            section.fault(name, f"does not go with kind {kind}", f"it is for {' and '.join(kinds)}")


def _go_together(section: Section, options: FileOptions) -> None:
    if len({folded(name) for name in options.partition_by}) < len(options.partition_by):
        section.fault("partition_by", "names a column twice")
    if options.delimiter in options.null:
        section.fault("null", "must not hold the delimiter")
    if options.escape_formulas and like_a_formula(options.null):
        section.fault("null", "begins like a formula, and escape_formulas is set", 'choose another text, such as "NA"')


def read_ledger(section: Section, folder: Path) -> Path | None:
    database = section.get("database", text)
    section.finish()
    return folder / database if database else None


def read_pseudonyms(columns: tuple[str, ...], section: Section) -> Pseudonyms | None:
    if not columns:
        section.get("key_env", text)
        section.finish()
        if section.data:
            section.fault("key_env", "is for pseudonyms, and there are none", 'columns.pseudonyms = ["patient_id"]')
        return None
    remedy = 'name the environment variable that holds the key: key_env = "DUCKANON_KEY"'
    key_env = section.get("key_env", text, "", required=remedy)
    section.finish()
    return Pseudonyms(columns, key_env)


def _text_or_empty(value: Any) -> str | None:
    good = isinstance(value, str) and not any(sign in value for sign in '\r\n"')
    return None if good else "must be a text without quotes and line ends"
