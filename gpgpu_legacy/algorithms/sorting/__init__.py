"""Algorithms that sort."""
