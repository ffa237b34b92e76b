"""The audit: every claim of the papers recomputed and given a verdict."""
