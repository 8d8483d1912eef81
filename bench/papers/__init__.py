"""The experiments of the papers, run again: a module for each, which says what to release and what the paper claims."""
