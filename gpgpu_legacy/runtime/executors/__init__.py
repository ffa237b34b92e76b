"""The executors: what each is and can do, a file an executor.

A module here that has an `EXECUTOR` is found by runtime/registry.py, which imports all of them. So
what an executor is built on (OpenGL, LLVM, what generates code) is imported inside functions.
"""
