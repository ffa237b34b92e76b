"""The memory accesses of plans, and the caches that they would meet."""
