"""The plan of an algorithm: textures and passes over them, as pure data with no GL in it."""
