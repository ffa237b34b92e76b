"""Emitters: the lowering IR, or a kernel, as text of a language; each has its table of spellings.

No emitter decides what is computed, and none reads the text of another.
"""
