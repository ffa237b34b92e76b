"""The reference semantics in NumPy: it defines what programs, kernels and lookups compute."""
