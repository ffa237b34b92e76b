"""The algorithms, in folders by field; registry.py finds them, and those of other packages."""
