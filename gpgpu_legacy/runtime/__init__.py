"""The executors and what they run plans on: the contract, their registry, the host's memory and
threads, and in a room of its own OpenGL. Nothing here knows an algorithm, counts or predicts.
"""
