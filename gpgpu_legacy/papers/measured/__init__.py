"""Tables of measurements: published, recomputed, and measured here.

The engine that measures lives in measure/.
"""
