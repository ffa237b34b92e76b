"""Traces of the memory accesses of plans, and the caches in which they are simulated.

No plan runs here, and no time is predicted.
"""
