"""Folders that Spark's executors write and read, through the client; an address is never a part of a statement."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from duckanon.engine.spark.connection import quiet
from duckanon.policy import Release

if TYPE_CHECKING:
    import pyarrow

_BESIDE = ".duckanon"
_LONGEST_MARK = 100_000
# By default Spark leaves out the blanks around a text, and writes a quote in it in a way of its own.
_CSV = {"escape": '"', "ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"}


class SparkFolders:
    """Folders by their addresses, as the servers of a session see them."""

    def __init__(
        self,
        session: Any,
        said: Callable[[exp.Expr], str],
        translated: Callable[[str], AbstractContextManager[None]],
    ) -> None:
        self._session, self._said, self._translated = session, said, translated

    def holds_files(self, address: str) -> bool:
        return bool(self._found(address, "binaryFile", "path").num_rows)

    def mark(self, address: str) -> str | None:
        """One file of one line; of what is none, a text that is no mark."""
        found = self._found(address + _BESIDE, "text", f"SUBSTRING(value, 1, {_LONGEST_MARK}) AS mark")
        return "".join(found.column(0).to_pylist()) if found.num_rows else None

    def _found(self, address: str, kind: str, shown: str) -> pyarrow.Table:
        """Of the first two files below an address; of an address where nothing is, none."""
        from pyspark.errors import AnalysisException

        with self._translated(address):
            reading = self._session.read.format(kind).option("recursiveFileLookup", "true").option("wholetext", "true")
            try:
                return reading.load(address).selectExpr(shown).limit(2).toArrow()
            except AnalysisException as error:
                if error.getCondition() != "PATH_NOT_FOUND":
                    raise
                return self._session.sql("SELECT 1 WHERE FALSE").toArrow()

    def say_whose(self, address: str, mark: str) -> None:
        import pyarrow

        with self._translated(address), quiet():
            line = self._session.createDataFrame(pyarrow.table({"value": [mark]}))
            line.coalesce(1).write.mode("overwrite").text(address + _BESIDE)

    def write(self, rows: exp.Query, release: Release) -> None:
        options, text = release.options, self._said(rows)
        with self._translated(text):
            writing = self._session.sql(text).write.mode("overwrite")
            if options.compression is not None:
                writing = writing.option("compression", options.compression)
            if release.kind == "csv":
                writing = writing.options(**_CSV, sep=options.delimiter, header=options.header, nullValue=options.null)
            writing.format(release.kind).save(release.to)
