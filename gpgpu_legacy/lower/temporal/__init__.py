"""Temporal tiling: several iterations of passes that read neighbours, on overlapping tiles.

The code that all work groups share is in groups/, and the spelling of shaders in emit/.
"""
