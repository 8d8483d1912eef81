"""A table with a column of every type of Spark's that is released, and one that is not."""

from __future__ import annotations

from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.spark import Lake


def are_released(duckanon: Command, lake: Lake, folder: Folder) -> None:
    lake.sql(
        "CREATE TABLE people AS SELECT CAST(id % 3 AS TINYINT) AS a, CAST(id % 2 AS DECIMAL(8, 2)) AS b, "
        "TIMESTAMP_NTZ'2020-01-01 10:00:00' AS c, TIMESTAMP'2020-01-01 10:00:00' AS d, id % 2 = 0 AS e, "
        "ARRAY(id % 2) AS f, NAMED_STRUCT('x', id % 2) AS g, INTERVAL '1' DAY AS h, "
        "CAST('x' AS BINARY) AS i FROM RANGE(40)"
    )
    text = (
        'name = "t"\nsource.table = "people"\nprivacy.k = 2\nquasi_identifiers = { a = {}, b = {}, d = {}, e = {} }\n'
        'columns = { keep = ["c", "f", "g", "h"], drop = ["i"] }\nrelease = { kind = "table", to = "shown" }\n'
    )
    told = duckanon("run", folder.policy(text), "--db", lake.address)
    assert told.code == 0, told.err
    ((shown,),) = lake.sql("SELECT COUNT(DISTINCT STRUCT(a, b, c, d, e, f, g, h)) FROM shown")
    assert shown == 6
    told = duckanon("run", folder.policy(text.replace('"h"], drop = ["i"]', '"h", "i"]')), "--db", lake.address)
    assert (told.code, "i: is of type binary, which cannot be released" in told.err) == (2, True), told.err
