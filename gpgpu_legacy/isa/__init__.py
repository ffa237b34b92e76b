"""The instruction set of ARB_fragment_program 1.0: opcodes, programs, arithmetic and GL state.

`execute` runs programs on values of any domain. The room knows no program text and no plan.
"""
