"""The executors: one file for each, with its description and capabilities, for the registry.

The machinery of executors (OpenGL, LLVM, the emitters) does not live here, and is imported inside
functions.
"""
