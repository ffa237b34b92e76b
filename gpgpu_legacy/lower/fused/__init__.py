"""Fused passes: what shapes their code, and an iteration as the statements of one fragment.

Nothing here knows how many fragments are worked on at once, or on what.
"""
