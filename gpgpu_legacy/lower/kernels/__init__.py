"""Compute kernels on a processor: the loops of their statements, and bounds of their accesses.

These files read the statements of kernels; nothing here knows fragment programs.
"""
