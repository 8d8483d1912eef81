"""Pseudonyms: HMAC-SHA-256 of a value's text, computed in SQL with a key that no SQL text ever holds."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlglot import exp

from duckanon.engine import Column, Engine
from duckanon.engine.duckdb import DuckDB
from duckanon.errors import EngineError, Fault, PolicyError
from duckanon.expressions import sql, text_of
from duckanon.policy import Policy

_SHORTEST_KEY = 16  # bytes
_BLOCK = 64  # bytes that SHA-256 takes in at a time
_PADS = {"duckanon_inner_pad": 0x36, "duckanon_outer_pad": 0x5C}  # session variables, and HMAC's bytes for them
_LOCKED = "there is no key for the pseudonyms in this session"

# H(outer pad ‖ H(inner pad ‖ text)). Without the variables it is an error: there is no pseudonym without a key.
_HMAC = (
    "CASE WHEN GETVARIABLE('duckanon_inner_pad') IS NULL OR GETVARIABLE('duckanon_outer_pad') IS NULL "
    f"THEN ERROR('{_LOCKED}') ELSE "
    "SHA256(CAST(GETVARIABLE('duckanon_outer_pad') AS BLOB) || UNHEX(SHA256("
    "CAST(GETVARIABLE('duckanon_inner_pad') AS BLOB) || ENCODE(:text)))) END"
)


@dataclass(frozen=True)
class Pseudonym(Column):
    """A column that is released as keyed hashes: texts, whatever type its values have."""


def pseudonymized(kept: Column, value: exp.Expr) -> exp.Expr:
    """A kept value as the release shows it: itself or, of a column of pseudonyms, its keyed hash; NULL stays NULL."""
    return sql(_HMAC, text=text_of(value)) if isinstance(kept, Pseudonym) else value


def policy_key(policy: Policy) -> bytes | None:
    """The key of this policy's pseudonyms, from the key in the environment; None: it has no pseudonyms.

    A key of its own for each policy: what one policy releases cannot be joined with what another does.
    """
    if policy.pseudonyms is None:
        return None
    variable = policy.pseudonyms.key_env
    key = os.fsencode(os.environ.get(variable, ""))
    if len(key) < _SHORTEST_KEY:
        what = f"holds only {len(key)} bytes, a key has at least {_SHORTEST_KEY}" if key else "is not set, or is empty"
        remedy = "make a key with `openssl rand -hex 32` and keep it"
        raise PolicyError([Fault("pseudonyms.key_env", f"the variable {variable} {what}", remedy)], policy.file)
    return hmac.digest(key, policy.name.encode(), hashlib.sha256)


@contextmanager
def keyed(policy: Policy, engine: Engine) -> Iterator[None]:
    """A session that can make this policy's pseudonyms. The key reaches it as a bound parameter, and leaves with it.

    Begins before any transaction and ends after it: within one that has failed, nothing can be taken back.
    """
    key = policy_key(policy)
    if key is None:
        yield
        return
    if not isinstance(engine, DuckDB):
        raise EngineError("pseudonyms are made by DuckDB only")
    try:
        for variable, pad in _PADS.items():
            padded = bytes(byte ^ pad for byte in key.ljust(_BLOCK, b"\0"))
            engine.connection.execute(f"SET VARIABLE {variable} = ?", [padded])
        yield
    finally:
        for variable in _PADS:
            engine.connection.execute(f"RESET VARIABLE {variable}")
