"""The executors: their contract and registry, the host's memory and threads, and OpenGL.

Nothing here knows an algorithm, counts or predicts.
"""
