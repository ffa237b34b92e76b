"""GLSL's fragment shaders as Programs, and compute shaders of GLSL 4.3 as Kernels.

`fragments` compiles shaders in GLSL 1.10 to 1.30 and GLSL ES 1.00, on the compiler that all shading
languages share. `rules` has GLSL's differences from Cg.

`kernels` reads a subset of compute shaders: scalars and vec4, one-dimensional storage buffers of
float, shared arrays, `for`, `if` and barriers. Drivers are given the text itself, so constructs
that they may read differently are refused.
"""
