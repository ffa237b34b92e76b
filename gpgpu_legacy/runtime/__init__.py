"""The executors: their contract and registry, the host's memory and threads, and OpenGL in a room
of its own. Nothing here knows an algorithm, counts or predicts.
"""
