"""What was released when, from what, and how every other run ended."""

from duckanon.ledger.ledger import FileLedger, Ledger, Place, database_of, open_ledger

__all__ = ["FileLedger", "Ledger", "Place", "database_of", "open_ledger"]
