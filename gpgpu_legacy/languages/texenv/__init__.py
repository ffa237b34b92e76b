"""The texture environments of OpenGL 1.3: how a card without programs combined its textures.

Their text of one line per texture unit is read and printed here, and translated to a Program, which
holds the units as values of isa/. Code that runs, counts or draws a Program does not read text.
"""
