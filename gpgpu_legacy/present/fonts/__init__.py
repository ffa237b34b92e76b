"""Glyph sheets: a font as pixels, so that a figure's text is the same on every machine.

The sheets live here, and no font file.
"""
