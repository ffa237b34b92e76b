"""The entry of texture environments in the registry of languages."""

from __future__ import annotations

from gpgpu_legacy.languages.language import Language
from gpgpu_legacy.languages.texenv.reader import assemble
from gpgpu_legacy.languages.texenv.state import HEADER

LANGUAGE = Language("texture environments of OpenGL 1.3", HEADER, assemble)
