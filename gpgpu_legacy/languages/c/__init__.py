"""The C that Cg, HLSL, GLSL and Brook's programs share: text → tokens → syntax tree.

The preprocessor, the grammar, the tree and its diagnostics live here. Each language has its own
`Words`. Names get their meanings elsewhere.
"""
