"""What only some warehouses or pages need, and not everybody installs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from duckanon.errors import EngineError


def needed(extra: str, *modules: str, by: str = "this database") -> tuple[Any, ...]:
    """The modules that an extra of the package brings, and what takes them."""
    try:
        return tuple(import_module(module) for module in modules)
    except ImportError as error:
        remedy = f"pip install 'duckanon[{extra}]'"
        raise EngineError(f"{error.name or modules[0]} is not installed, which {by} takes; {remedy}") from None
