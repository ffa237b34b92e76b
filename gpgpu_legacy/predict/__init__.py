"""Lower bounds of times from a chip's numbers, the choice of `auto`, and the log of mispredictions.

Nothing here measures a time or runs a plan.
"""
