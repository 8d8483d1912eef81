"""What was released when, from what, and how every other run ended."""

from duckanon.ledger.ledger import FileLedger, Ledger, ReleaseAddress, open_ledger

__all__ = ["FileLedger", "Ledger", "ReleaseAddress", "open_ledger"]
