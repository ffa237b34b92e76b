"""Which packing did the hardware of 2003 want? The fewest instructions, found by search."""
