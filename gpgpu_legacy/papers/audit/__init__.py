"""The audit: every claim of the papers recomputed and given a verdict.

The claims themselves live in published/, and the values for them come from derive/.
"""
