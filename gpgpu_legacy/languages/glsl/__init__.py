"""GLSL 4.3's compute shaders, in a subset: from languages/c's syntax tree to a Kernel.

A kernel has scalars and vec4, one-dimensional storage buffers of float, shared arrays, `for`, `if`
and barriers. Drivers are given its own text, so nothing is read here that they may read otherwise.
"""
