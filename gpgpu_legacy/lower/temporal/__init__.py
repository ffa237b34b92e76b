"""Temporal tiling: several iterations of passes that read neighbours, on tiles that overlap.

What it has in common with other work groups is in groups/.
"""
