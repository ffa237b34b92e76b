"""What the number formats of the time cost in accuracy."""
