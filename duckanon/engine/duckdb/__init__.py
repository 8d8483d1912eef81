"""DuckDB: its client, its catalog, its files, its words for types; and the warehouse that is one."""
