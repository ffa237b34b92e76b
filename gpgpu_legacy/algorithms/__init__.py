"""The algorithms, in folders by field, and the registry that finds them and other packages'.

An algorithm builds a plan; it names no executor, no chip and no command.
"""
