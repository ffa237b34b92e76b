"""Lower bounds of times from a chip's numbers, and the log of mispredictions."""
