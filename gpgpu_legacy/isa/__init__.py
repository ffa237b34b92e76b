"""The instruction set of ARB_fragment_program 1.0: the opcode table and the program it fills."""
