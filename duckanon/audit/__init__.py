"""Asks the release itself, where it lies, in other words than those that searched."""

from duckanon.audit.findings import AskedSizes, Audit, AuditedColumn, audit
from duckanon.audit.questions import DistinctRows, People, Rows

__all__ = ["AskedSizes", "Audit", "AuditedColumn", "DistinctRows", "People", "Rows", "audit"]
