"""The instruction set of ARB_fragment_program 1.0: opcodes, programs, arithmetic and GL state."""
