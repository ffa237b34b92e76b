"""The algorithms, a folder each: every method in them builds a Plan; registry.py finds them."""
