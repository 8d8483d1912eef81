"""Everything that a terminal needs, and nothing that a library user does."""
