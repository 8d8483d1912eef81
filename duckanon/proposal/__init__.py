"""A first policy for a table that nobody has described yet: what its columns are, by their names, types and counts."""
