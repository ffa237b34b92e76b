"""The shader languages of the time, a folder each, and the registry that finds a text's language.

Each turns text into a Program or a Kernel; some print a Program, too. None knows a plan or a chip.
Languages of C's family share `c` and `shading`.
"""
