"""Solvers of linear systems, a module each with its function.

Their shaders live under shaders/, and products of matrices live in matmul/.
"""
