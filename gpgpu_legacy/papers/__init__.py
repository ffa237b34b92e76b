"""How what the papers printed is recomputed, and the verdicts."""
