"""Algorithms that make one value of many."""
