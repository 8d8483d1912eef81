"""What the privacy models say of their keys, as docs/policy.md and docs/policy.schema.json tell it.

Both are written by hand but for the thresholds: of these every model tells its own.
"""

from __future__ import annotations

import copy
import json
import re
from typing import Any

from duckanon.models.k_anonymity import MODEL as K_ANONYMITY
from duckanon.models.keys import TableKey, ThresholdKey
from duckanon.models.registry import column_keys, size_models, value_keys

_TABLE = re.compile(
    r"(?P<head><!-- thresholds: (?P<of>\w+) -->\n\|.*\n\|[-|]+\n)(?P<rows>(?:\|.*\n)+)(?P<end><!-- end -->)"
)
_WIDTH = 120


def guide_with_thresholds(guide: str) -> str:
    """The page with a row for every threshold in the tables between the marks; rows of other keys stay, below them."""
    generated = {"privacy": _privacy_rows(), "sensitive": _sensitive_rows()}

    def table(found: re.Match[str]) -> str:
        rows = generated[found["of"]]
        kept = [line for line in found["rows"].splitlines() if line.split("`")[1] not in rows]
        return "\n".join([found["head"].rstrip(), *rows.values(), *kept, found["end"]])

    return _TABLE.sub(table, guide)


def _privacy_rows() -> dict[str, str]:
    rows = [_row(f"privacy.{name}", meaning, "") for name, meaning in K_ANONYMITY.key.meanings.items()]
    for model in size_models():
        default = "" if isinstance(model.key, TableKey) else "*none*"
        rows += [_row(f"privacy.{name}", meaning, default) for name, meaning in model.key.meanings.items()]
    return dict(rows)


def _sensitive_rows() -> dict[str, str]:
    rows = []
    for _, key in column_keys():
        rows += _key_rows("sensitive.COLUMN", key, "*none*")
    for model, value_key in value_keys():
        default = "*none*" if model.key is None else "the column's"
        rows += _key_rows("sensitive.COLUMN.values.VALUE", value_key, default)
    return dict(rows)


def _key_rows(where: str, key: ThresholdKey, default: str) -> list[tuple[str, str]]:
    """Of what is part of a table no default is told."""
    told = key.meanings.items()
    return [_row(f"{where}.{name}", meaning, default if name == key.name else "") for name, meaning in told]


def _row(key: str, meaning: str, default: str) -> tuple[str, str]:
    return key, f"| `{key}` | {meaning} | {default} |".replace("|  |", "| |")


def schema_with_thresholds(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with all thresholds as the models check them; other keys stay, behind them."""
    schema = copy.deepcopy(schema)
    privacy, sensitive = schema["properties"]["privacy"], schema["properties"]["sensitive"]["additionalProperties"]
    value = sensitive["properties"]["values"]["additionalProperties"]
    for part, keys in (
        (privacy, [K_ANONYMITY.key, *(model.key for model in size_models())]),
        (sensitive, [key for _, key in column_keys()]),
        (value, [key for _, key in value_keys()]),
    ):
        told = {key.name: key.schema for key in keys}
        part["properties"] = told | {name: known for name, known in part["properties"].items() if name not in told}
    return schema


def written_schema(value: Any, indent: int = 0, before: int = 0) -> str:
    """JSON as a person would write it: in one line what fits there, `before` it so many characters."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or indent + before + len(flat) < _WIDTH:
        return flat
    inner, margin = indent + 2, " " * (indent + 2)
    if isinstance(value, list):
        lines = [margin + written_schema(item, inner) for item in value]
    else:
        names = {json.dumps(name, ensure_ascii=False): item for name, item in value.items()}
        lines = [f"{margin}{name}: {written_schema(item, inner, len(name) + 2)}" for name, item in names.items()]
    opening, closing = "[]" if isinstance(value, list) else "{}"
    return f"{opening}\n" + ",\n".join(lines) + f"\n{' ' * indent}{closing}"
