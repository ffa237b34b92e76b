"""Plain spellings of characters, for streams and files whose encoding lacks them."""

from __future__ import annotations

import codecs
from itertools import pairwise
from unicodedata import combining, normalize

_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻ⁱⁿʲ", "0123456789-inj", strict=True))

_SPELLINGS = {
    "×": "x", "·": "*", "−": "-", "–": "-", "—": "-", "…": "...", "→": "->", "•": "*",
    "₂": "2", "≤": "<=", "≥": ">=", "≈": "~", "≠": "!=", "±": "+-", "√": "sqrt", "∈": "in",
    "⌊": "floor(", "⌋": ")", "α": "alpha", "β": "beta", "τ": "tau", "µ": "u", "μ": "u",
    "°": " deg", "£": "GBP ",
    "“": '"', "”": '"', "‘": "'", "’": "'", "\u2009": " ", "\u202f": " ", "\u00a0": " ",
}  # fmt: skip

REPLACE = "gpgpu_legacy.plain"
"""The name of the error handler that spells characters plainly if an encoding lacks them."""


def spelled_plainly(text: str, encoding: str) -> str:
    """The text with plain characters where the encoding lacks them: × as x, n³ as n^3, else ?."""
    return text.encode(encoding, REPLACE).decode(encoding)


def _spellings(lacking: str) -> str:
    """Characters in ASCII; a run of superscripts follows one ^."""
    spelled = []
    for before, character in pairwise(f" {lacking}"):
        if character in _SUPERSCRIPTS:
            mark = "" if before in _SUPERSCRIPTS else "^"
            spelled.append(mark + _SUPERSCRIPTS[character])
        elif character in _SPELLINGS:
            spelled.append(_SPELLINGS[character])
        else:
            base = normalize("NFKD", character).encode("ascii", "ignore").decode("ascii")
            spelled.append(base if base or combining(character) else "?")
    return "".join(spelled)


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return _spellings(error.object[error.start : error.end]), error.end


codecs.register_error(REPLACE, _replace)
