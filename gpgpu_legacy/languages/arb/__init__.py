"""ARB_fragment_program text to Program and back."""
