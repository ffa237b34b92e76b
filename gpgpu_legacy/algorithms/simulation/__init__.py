"""Simulations on a grid, a texel for each cell."""
