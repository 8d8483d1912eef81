"""Where the rows lie (a warehouse), where they are searched (the workbench), and what stands between them and us."""

from duckanon.engine.engine import Engine
from duckanon.engine.relation import ReadFile, Reading, Relation
from duckanon.engine.types import Column, Type
from duckanon.engine.warehouse import Warehouse
from duckanon.engine.workbench import Executed, Workbench

__all__ = ["Column", "Engine", "Executed", "ReadFile", "Reading", "Relation", "Type", "Warehouse", "Workbench"]
