"""Temporal tiling: several iterations of passes that read neighbours, on overlapping tiles.

Code for all work groups is in groups/, and the spelling of shaders in emit/.
"""
