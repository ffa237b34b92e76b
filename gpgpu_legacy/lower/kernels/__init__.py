"""Compute kernels on a processor: the loops of their statements, and accesses proven inside.

These files read the statements of kernels; nothing here knows fragment programs.
"""
