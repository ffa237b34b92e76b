"""The lowering IR, the lowering of programs to it, and the code that all targets share.

Each room below has its own description. No file here runs a plan, and none knows an opcode by name.
"""
