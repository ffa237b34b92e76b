"""Whole Brook programs: the host part is small C, compiled to Python functions and run here.

C's types, memory and library live here, and the streams of a running program. Kernels are compiled
in `languages/`, and their calls run as plans.
"""
