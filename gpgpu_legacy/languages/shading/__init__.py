"""The compiler of the shading languages of C's family: from a syntax tree to a Program.

`evaluate` runs a function on the scalars of a `graph`. Loops are unrolled and branches become
selects, or both stay as instructions. `packing`, `registers` and `emit` turn the graph into
instructions. All numbers are the machine's floats, half and fixed included; an int is a float
without a fraction.
"""
