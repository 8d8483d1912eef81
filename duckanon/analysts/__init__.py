"""For people who only ask: metrics, portable SQL, the statements of a run as a script."""
