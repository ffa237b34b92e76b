"""The executors: one file for each, which says what it is and can do, for the registry to find.

What an executor is built on (OpenGL, LLVM, the emitters) does not live here, and is imported inside
functions.
"""
