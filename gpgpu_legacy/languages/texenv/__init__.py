"""The texture environments of OpenGL 1.3: how a card without programs combined its textures.

A text of state, one line a texture unit, becomes a Program. What lives here is the state, its text
and its meaning in instructions; what runs, counts or draws a Program lives elsewhere.
"""
