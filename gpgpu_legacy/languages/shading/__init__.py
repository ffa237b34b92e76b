"""What the shading languages of C's family share: from a syntax tree to a Program.

`evaluate` runs a function on the scalars of a `graph`, with loops unrolled and branches turned into
selects; `packing`, `registers` and `emit` turn the graph into instructions. All numbers are the
machine's floats, half and fixed among them; an int is a float without a fraction.
"""
