"""The reference semantics in NumPy: what programs, kernels and lookups compute.

Every executor is held against it. It is written to be read, and is no executor itself.
"""
