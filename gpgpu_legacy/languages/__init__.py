"""The shader languages of the time, a folder each, and the registry that finds a text's language.

Each turns text into a Program and back, or into a Kernel. None knows a plan, a chip or another
language.
"""
