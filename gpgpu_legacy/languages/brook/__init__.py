"""Brook's kernels: streams, gathers, iterators and reductions, compiled on the front end of Cg.

What a kernel reads and writes, and how a program finds an element's texel, live here. Passes,
textures and Brook's host code do not.
"""

SUFFIX = ".br"
