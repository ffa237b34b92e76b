"""Tables of formulas: recovered from counts, beside the published ones.

No formula is typed in here.
"""
