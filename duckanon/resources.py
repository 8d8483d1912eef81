"""Where the shipped SQL files and hierarchies lie: inside an installed package, or beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def folder(name: str) -> Path:
    """The folder `sql` or `hierarchies`."""
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


def macros() -> str:
    """The analysts' macros as one SQL script."""
    return (folder("sql") / "macros.sql").read_text(encoding="utf-8")


def builtin_hierarchies() -> dict[str, Path]:
    """The ready-made hierarchies by name."""
    return {path.stem: path for path in sorted(folder("hierarchies").glob("*.csv"))}
