"""Simulations on a grid, a texel for each cell, a module each with its function.

Their shaders live under shaders/, and code for several fields does not live here.
"""
