"""Matrix products: a method in each module; product.py and tiles.py are shared.

The papers' tables and verdicts do not live here.
"""
