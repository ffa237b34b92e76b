"""Solvers of linear systems."""
