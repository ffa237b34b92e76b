"""Compute kernels: a subset of GLSL 4.3, parsed into structured data.

Here are its bounds, too, and what its control flow depends on. Nothing here runs or emits a kernel.
"""
