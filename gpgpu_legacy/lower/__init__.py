"""The lowering IR, how programs become it, and what all targets of it share.

Each room below says what lives there. No file here runs a plan, and none knows an opcode by name.
"""
