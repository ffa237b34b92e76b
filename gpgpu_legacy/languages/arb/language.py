"""The entry of ARB_fragment_program 1.0 in the registry of languages."""

from __future__ import annotations

from gpgpu_legacy.languages.arb.parser import HEADER, assemble
from gpgpu_legacy.languages.language import Language

LANGUAGE = Language("ARB_fragment_program 1.0", HEADER, assemble)
