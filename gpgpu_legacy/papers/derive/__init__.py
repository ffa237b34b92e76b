"""The functions that recompute the papers' claims, from plans, counts, chips and other cells.

A claim of published/*.toml names one of these functions and its arguments; audit/model.py says how
they are called. Each returns a number, several numbers, a text, a truth value, or a number with the
bounds that follow from the rounding of printed times. Nothing that can be counted or looked up is
typed in.
"""
