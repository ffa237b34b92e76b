"""The shader languages of the time, a folder each, and how the language of a text is found.

Each turns text into a Program and back. None knows a plan, a chip or another language.
"""
