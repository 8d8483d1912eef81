"""The seam between the driver and a database, and DuckDB behind it."""

from duckanon.engine.engine import Column, Engine, Executed, ReadFile, Reading, Relation

__all__ = ["Column", "Engine", "Executed", "ReadFile", "Reading", "Relation"]
