"""Tables of formulas: recovered from counts, and set beside the published ones."""
