"""What the name of a column says of it, and what its values look like."""
