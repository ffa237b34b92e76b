"""The matrix products: a method a module, and what the methods share."""
