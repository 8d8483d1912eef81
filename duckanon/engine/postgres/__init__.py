"""PostgreSQL, 15 and newer, through its Arrow driver (ADBC)."""
