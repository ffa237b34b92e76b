"""A plan through caches: one, a sweep of them, or all sizes at once."""
