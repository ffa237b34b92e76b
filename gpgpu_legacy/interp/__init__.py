"""The reference semantics, in NumPy: what a program means is what this room computes."""
