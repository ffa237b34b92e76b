"""Compute kernels: the subset of GLSL 4.3 that shaders/*.comp keep to, as structured data."""
