"""Temporal tiling: several iterations of passes that read neighbours, on tiles that overlap.

What other work groups need as well lives in groups/, and how a shader spells it in emit/.
"""
