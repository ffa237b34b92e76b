"""Compute kernels on a processor: the loops of their statements, and accesses proven inside.

These files read the kernel's own IR (kernel/ir.py); nothing here knows fragment programs.
"""
