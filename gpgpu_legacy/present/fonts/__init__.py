"""Glyph sheets: a font as pixels, so that a figure's text is the same on every machine."""
