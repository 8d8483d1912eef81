"""Spark, 4 and newer, and what speaks its protocol, through the thin client (Spark Connect)."""
