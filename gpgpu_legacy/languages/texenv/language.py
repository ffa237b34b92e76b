"""The entry of texture environments in the registry of languages."""

from __future__ import annotations

from gpgpu_legacy.languages.language import Language, later
from gpgpu_legacy.languages.texenv.stages import HEADER, print_state

LANGUAGE = Language(
    "texture environments of OpenGL 1.3", later("gpgpu_legacy.languages.texenv.reader:assemble"),
    (".texenv",), HEADER, owns=lambda program: program.state is not None, print=print_state,
)  # fmt: skip
