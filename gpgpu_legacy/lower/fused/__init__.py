"""Fused passes: the content that decides their code, and an iteration as one fragment's statements.

Nothing here knows how many fragments are computed at once, or on which target.
"""
