"""The builder of plans: textures and passes, written down in the order in which they run."""
