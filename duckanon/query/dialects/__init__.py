"""The dialects that SQL is said in. All of it is written in the workbench's; other engines have words of their own."""

from duckanon.query.dialects.workbench import WORKBENCH

__all__ = ["WORKBENCH"]
