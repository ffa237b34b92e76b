"""Fused passes: the content that decides their code, and the statements of an iteration.

Nothing here knows how many fragments are computed at once, or on which target.
"""
