"""The counters: exact costs of plans and programs, and formulas recovered from counts.

Nothing here runs a plan on data, and nothing knows a chip.
"""
