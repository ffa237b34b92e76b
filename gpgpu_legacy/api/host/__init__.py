"""Whole Brook programs: the host part is small C, compiled to Python functions and run here.

C's types, memory and library live here, and the streams of a program that runs. Kernels are
compiled below, in `languages/`, and their calls run as plans.
"""
