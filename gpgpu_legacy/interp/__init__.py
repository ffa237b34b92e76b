"""The reference semantics in NumPy: what programs, kernels and lookups compute.

Every executor is compared with it. The code is written to be read; executors and generated code do
not belong here.
"""
