"""Times bounded from a chip's numbers, and the log of how they came out."""
