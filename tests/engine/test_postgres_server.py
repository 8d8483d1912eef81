"""The servers that tests use, and the copies of tables in them."""

from __future__ import annotations

import duckdb

from tests.support.far import PostgresDatabase, on_postgres
from tests.support.postgres import Server


def test_tables_are_copied(postgres_database: PostgresDatabase) -> None:
    with duckdb.connect() as db:
        db.execute(
            'CREATE TABLE "a b" AS SELECT * FROM (VALUES (1, \'x\', 0.5::DOUBLE, 1.25, NULL::DATE)) t ("A", b, c, d, e)'
        )
        postgres_database.copy(db, '"a b"')
    assert postgres_database.sql('SELECT * FROM "a b"') == [(1, "x", 0.5, 1.25, None)]


def test_the_installed_one_is_old_enough_to_be_worth_asking(old_postgres: Server) -> None:
    with old_postgres.new_database() as address, on_postgres(address) as database:
        ((version,),) = database.sql("SELECT current_setting('server_version_num')::int")
    assert version >= 150_000
