"""What a release says of itself: whose it is, what it promises and when it was written."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from duckanon.engine.marks import is_mark
from duckanon.policy import Policy


def mark_of(policy: Policy, version: str, levels: dict[str, int] | None) -> str:
    """One JSON document, by which the next run knows whose the release is."""
    mark = {
        "duckanon": version,
        "policy": policy.name,
        "policy_hash": policy.hash,
        "k": policy.k,
        "levels": levels,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return json.dumps(mark, ensure_ascii=False)


def made_by(mark: str | None, policy: Policy) -> bool:
    return is_mark(mark) and json.loads(mark or "").get("policy") == policy.name


def levels_in(mark: str | None) -> dict[str, int]:
    """The levels that a mark tells; none of a local recoding."""
    levels = json.loads(mark or "{}").get("levels")
    return levels if isinstance(levels, dict) else {}


def policy_hash_in(mark: str | None) -> str | None:
    """The hash of the policy that a mark tells."""
    try:
        found = json.loads(mark or "{}")
    except ValueError:
        return None
    return found.get("policy_hash") if isinstance(found, dict) else None


def metadata_of(mark: str) -> dict[str, str]:
    """The mark, and its parts once more in plain keys: any reader of Parquet files shows them."""
    parts = {f"duckanon_{key}": said for key, said in json.loads(mark).items() if key != "duckanon"}
    plain = {
        key: said if isinstance(said, str) else json.dumps(said, ensure_ascii=False) for key, said in parts.items()
    }
    return {"duckanon": mark} | plain
