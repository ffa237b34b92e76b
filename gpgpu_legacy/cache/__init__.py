"""Traces of the memory accesses of plans, and caches that simulate them."""
