"""Compute kernels: a subset of GLSL 4.3, parsed into structured data."""
