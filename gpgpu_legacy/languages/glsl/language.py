"""The entry of GLSL's fragment shaders in the registry of languages."""

from __future__ import annotations

from gpgpu_legacy.languages.language import Language, later

LANGUAGE = Language(
    "GLSL 1.10 to 1.30 and GLSL ES 1.00",
    later("gpgpu_legacy.languages.glsl.fragments:compile_text"), (".frag", ".glsl", ".fs", ".fsh"),
    sign=r"\bvoid\s+main\s*\(\s*(void)?\s*\)", compiles=True,
)  # fmt: skip
