"""The executors: one file for each, which says what it is and can do.

The registry (runtime/registry.py) imports every module here and takes its `EXECUTOR`. So what an
executor is built on (OpenGL, LLVM, the emitters) is imported inside functions.
"""
