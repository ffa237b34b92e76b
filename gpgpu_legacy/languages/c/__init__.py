"""The C that Cg, HLSL, GLSL's kernels and Brook's programs share: text → tokens → syntax tree.

The preprocessor, the grammar, the tree and its diagnostics live here. A language has `Words` of its
own; what a name means is not said here.
"""
