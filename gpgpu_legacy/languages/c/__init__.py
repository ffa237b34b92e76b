"""The C that Cg, HLSL, Brook's kernels and Brook's host code share: text → tokens → syntax tree.

The preprocessor, the grammar, the tree and its diagnostics live here. What a name means does not.
"""
