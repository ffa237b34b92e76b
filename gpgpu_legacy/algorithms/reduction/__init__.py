"""Algorithms that reduce many values to one, a module each with its function.

Their shaders live under shaders/, and code for several fields does not live here.
"""
