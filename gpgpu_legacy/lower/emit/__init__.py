"""Emitters: the lowering IR, or a kernel, as text of a language, each a table of spellings.

No emitter decides what is computed, or reads text of another one.
"""
