"""What runs leave beside their releases: lines in a ledger, and locks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

from duckanon.engine.lock import lock_path
from duckanon.ledger import ReleaseAddress
from duckanon.policy import Policy
from tests.support.folder import Folder


def rows_of(database: Path, query: str = "FROM duckanon.releases ORDER BY recorded") -> list[dict[str, Any]]:
    with duckdb.connect(str(database), read_only=True) as connection:
        result = connection.execute(query)
        names = [column[0] for column in result.description or []]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def outcomes(database: Path) -> list[str]:
    return [row["outcome"] for row in rows_of(database)]


def lock_of(policy: Path, folder: Folder) -> Path:
    wanted = Policy.load(policy)
    return lock_path(("run", *(ReleaseAddress.of(wanted, folder.database).key or ())))
