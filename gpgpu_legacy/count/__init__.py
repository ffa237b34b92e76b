"""The counters: the cost of plans and programs, counted exactly, and formulas recovered from
counts. Nothing here runs a plan on data, and nothing knows a chip.
"""
