"""The texture environments of OpenGL 1.3: how a card without programs combined its textures.

The state, its text of one line per texture unit, and its translation to a Program live here. Code
that runs, counts or draws a Program does not.
"""
