"""Spark Connect servers of our own: Sail, which is a wheel and needs no Java, and Spark itself."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from duckanon.engine.spark.catalog import said_name, spelled_parts
from duckanon.engine.spark.connection import connect, quiet
from duckanon.policy.database import ServerAddress
from tests.support.environments import alone_with, install, make_environment, scripts_of
from tests.support.needs import missing
from tests.support.paths import ROOT

ENVIRONMENT = ROOT / ".venv-spark"
_WANTED = "pyspark[connect]==4.2.1"  # not together with the thin client, which is in our own environment
_SAIL = """
import sys, time
from pysail.spark import SparkConnectServer
server = SparkConnectServer(ip="127.0.0.1", port=int(sys.argv[1]))
server.start(background=False)
"""
_PATIENCE = 90  # seconds for a server to come up


@dataclass(frozen=True)
class Lake:
    """A session of a server, which several processes share by its address."""

    address: str
    session: Any

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        """The rows of the last statement."""
        rows: list[tuple[Any, ...]] = []
        for statement in statements:
            table = self.session.sql(statement).toArrow()
            rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        return rows

    def load(self, name: str, query: str, connection: duckdb.DuckDBPyConnection | None = None) -> None:
        """A table with the rows of a query to DuckDB."""
        rows = (connection or duckdb.connect()).sql(query).to_arrow_table()
        with quiet():
            self.session.createDataFrame(rows).createOrReplaceTempView("loaded")
        columns = ", ".join(_loaded(field) for field in rows.schema)
        made = f"CREATE TABLE {name} AS SELECT {columns} FROM loaded"
        self.sql(f"DROP TABLE IF EXISTS {name}", made, "DROP VIEW loaded")

    def said(self, *parts: str) -> str:
        return said_name(*parts)

    def copy(self, source: duckdb.DuckDBPyConnection, name: str) -> None:
        self.load(said_name(*(spelled_parts(name) or ())), f"FROM {name}", source)

    def empty(self) -> None:
        for found in self.session.catalog.listTables():
            self.sql(f"DROP {'VIEW' if 'VIEW' in found.tableType else 'TABLE'} {said_name(found.name)}")

    def tables(self, schema: str = "default") -> set[str]:
        """All tables and views, but for temporary ones."""
        listed = self.sql(f"SHOW TABLES IN {schema}", f"SHOW TABLES IN {schema}")
        return {name for _, name, temporary in listed if not temporary}


def _loaded(field: Any) -> str:
    """The client takes every moment for one of a time zone."""
    name = said_name(field.name)
    return f"CAST({name} AS TIMESTAMP_NTZ) AS {name}" if str(field.type) == "timestamp[us]" else name


@dataclass(frozen=True)
class SparkServer:
    """A server on a port of this machine."""

    port: int
    process: int

    @contextmanager
    def lake(self) -> Iterator[Lake]:
        """A session that nobody else is in; the catalog of Sail goes with it."""
        address = f"sc://127.0.0.1:{self.port}/;user_id=tests;session_id={uuid.uuid4()}"
        session = connect(ServerAddress(address), _PATIENCE)
        try:
            yield Lake(address, session)
        finally:
            session.release_session_on_close = True
            session.stop()


@contextmanager
def sail() -> Iterator[SparkServer]:
    with _running([sys.executable, "-c", _SAIL, "{port}"]) as server:
        yield server


# Nothing in a test is worth compiling.
_UNCOMPILED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@contextmanager
def spark(master: str = "local[2]", settings: Mapping[str, str] = _UNCOMPILED) -> Iterator[SparkServer]:
    """Spark itself, which is installed where it is missing; nothing of it outlives the tests."""
    home = _installed()
    options = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "{port}",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": "warehouse",
        **settings,
    }
    started = "org.apache.spark.sql.connect.service.SparkConnectServer"
    command = [str(home / "bin" / "spark-submit"), "--master", master, "--class", started]
    command += [part for key, value in options.items() for part in ("--conf", f"{key}={value}")]
    with _running([*command, "spark-internal"], SPARK_HOME=str(home)) as server:
        yield server


@contextmanager
def _running(command: list[str], **environment: str) -> Iterator[SparkServer]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="duckanon") as folder, (Path(folder) / "log").open("wb") as log:
        process = subprocess.Popen(
            [part.replace("{port}", str(port)) for part in command],
            cwd=folder, stdout=log, stderr=log, env={**os.environ, **environment},
        )  # fmt: skip
        try:
            _must_listen(port, process, Path(folder) / "log")
            yield SparkServer(port, process.pid)
        finally:
            process.terminate()
            process.wait(30)


def _must_listen(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"the server does not start: {log.read_text(encoding='utf-8')[-2000:]}")


def _installed() -> Path:
    """Where Spark is; it is installed by the first test that asks for it."""
    python, done = scripts_of(ENVIRONMENT) / "python", ENVIRONMENT / "requirements.txt"
    with alone_with(ENVIRONMENT):
        if not (done.is_file() and done.read_text(encoding="utf-8") == _WANTED):
            make_environment(ENVIRONMENT)
            if (told := install(ENVIRONMENT, "--retries", "1", _WANTED)).returncode:
                missing("spark", f"Spark cannot be installed here (offline?): {told.stderr[-300:]}")
            done.write_text(_WANTED, encoding="utf-8")
    home = [str(python), "-c", "import pyspark; print(pyspark.__path__[0])"]
    return Path(subprocess.run(home, capture_output=True, text=True, check=True).stdout.strip())
