"""GLSL's fragment shaders as Programs, and compute shaders of GLSL 4.3 as Kernels.

`fragments` compiles shaders in GLSL 1.10 to 1.30 and GLSL ES 1.00; `rules` is what GLSL says
otherwise than Cg, on what all shading languages share.

`kernels` reads a subset of compute shaders: scalars and vec4, one-dimensional storage buffers of
float, shared arrays, `for`, `if` and barriers. Drivers are given its own text, so nothing is read
here that they may read otherwise.
"""
