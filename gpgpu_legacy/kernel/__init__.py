"""Compute kernels: a subset of GLSL 4.3, parsed into structured data.

The room also has the limits of kernels and the analysis of their dependences. Nothing here runs or
emits a kernel.
"""
