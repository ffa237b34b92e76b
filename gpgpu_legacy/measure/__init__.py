"""Products run, checked, counted and timed."""
