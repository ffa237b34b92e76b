"""The methods: one module each, which builds a Plan; registry.py finds them."""
