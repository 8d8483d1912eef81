"""Asks the release itself: not the path that searched, but the analysts' macros."""

from duckanon.audit.findings import Audit, AuditedColumn, audit
from duckanon.audit.questions import People, Rows

__all__ = ["Audit", "AuditedColumn", "People", "Rows", "audit"]
