"""How SQL is written here: expressions and named steps."""
