"""The builder of plans: textures and passes, written down in the order in which they run.

The room also makes and checks the inputs of a plan. It knows no algorithm, and runs nothing.
"""
