"""What a policy means, in one form: not its spelling, nor the folder that it lies in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

# Where things lie is not what the policy asks for: the other fingerprints and the ledger's columns tell that.
# Nor is who asks for it, the policy or its profile.
_WHERE = {
    "Policy": ("folder", "file", "text", "ledger", "raised"),
    "Source": ("database",),
    "MappingFile": ("path", "ready_made"),
}


def canonical(value: Any, folder: Path) -> Any:
    """Plain JSON. What is as by default is left out, so that a key added in a later version changes no hash."""
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value).__name__
        told = {f.name: getattr(value, f.name) for f in fields(value) if f.name not in _WHERE.get(kind, ())}
        usual = {f.name: f.default for f in fields(value) if f.default is not MISSING}
        asked = {name: item for name, item in told.items() if name not in usual or usual[name] != item}
        if kind in ("Source", "Population") and asked.get("file"):
            asked["file"] = _beside(asked["file"], folder)
        asked |= asked.pop("thresholds", {})  # each a part of its column, or value, as any other
        return [kind, {name: canonical(item, folder) for name, item in asked.items() if item != {}}]
    if isinstance(value, Mapping):
        return sorted(([key, canonical(item, folder)] for key, item in value.items()), key=lambda pair: str(pair[0]))
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [canonical(item, folder) for item in value]
    return value


def _beside(file: str, folder: Path) -> str:
    path = Path(file)
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else file


def digest_of(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=True).encode()).hexdigest()
