"""Pseudonyms: HMAC-SHA-256 of a value's text, computed in SQL with a key that no SQL text ever holds."""

from __future__ import annotations

import hashlib
import hmac
import os
from dataclasses import dataclass, field

from sqlglot import exp

from duckanon.engine import Column
from duckanon.engine.scratch import Scratch
from duckanon.errors import Fault, PolicyError
from duckanon.policy import Policy
from duckanon.query.expressions import column, text_of
from duckanon.query.functions import keyed_hash

_SHORTEST_KEY = 16  # bytes
_BLOCK = 64  # bytes that SHA-256 takes in at a time
_PADS = {"inner_pad": 0x36, "outer_pad": 0x5C}  # parameters of the statement, and HMAC's bytes for them


@dataclass(frozen=True)
class Pseudonym(Column):
    """A column that is released as keyed hashes: texts, whatever type its values have. Without a key, as where SQL is
    only printed, none can be made."""

    key: bytes | None = field(default=None, repr=False)


def pseudonymized(
    cells: exp.Select, names: tuple[str, ...], keep: tuple[Column, ...], scratch: Scratch, thing: str = "pseudonyms"
) -> exp.Select:
    """The cells, of these columns, with keyed hashes in place of the values in columns of pseudonyms; NULL stays NULL.

    They are made by one statement of ours, over tables of ours, whose bound parameters are all that holds the key: no
    SQL of the source is ever evaluated beside it.
    """
    hashed = {f"k{position}" for position, kept in enumerate(keep) if isinstance(kept, Pseudonym)}
    if not hashed:
        return cells
    shown = [_hashed(name) if name in hashed else column(name) for name in names]
    query = exp.select(*shown).from_(cells.subquery("cells"))
    keys = {kept.key for kept in keep if isinstance(kept, Pseudonym)}
    (key,) = keys  # a policy has one
    if key is None:
        return query
    return exp.select("*").from_(scratch.table(thing, query, "the pseudonyms", _pads(key)))


def _hashed(name: str) -> exp.Expr:
    return keyed_hash(text_of(column(name))).as_(name)


def _pads(key: bytes) -> dict[str, bytes]:
    return {name: bytes(byte ^ pad for byte in key.ljust(_BLOCK, b"\0")) for name, pad in _PADS.items()}


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
