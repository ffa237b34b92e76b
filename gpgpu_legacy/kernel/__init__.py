"""Compute kernels as structured data: the subset of GLSL 4.3 that languages/glsl reads.

The room also has the limits of kernels and the analysis of their dependences. Nothing here runs or
emits a kernel.
"""
