"""Cg's evaluator, whose library names lookups in ways of its own."""

from __future__ import annotations

import re

from gpgpu_legacy.languages.c.syntax import Call
from gpgpu_legacy.languages.shading.evaluate import Evaluator
from gpgpu_legacy.languages.shading.graph import Vector
from gpgpu_legacy.languages.shading.library import Library

_SHORT = re.compile(r"[fhx]([1-4])(tex\w+)")
"""A lookup's name with the number of components that it gives."""

_REFUSED = {
    r"(un)?pack_(2half|2ushort|4u?byte)":
     "fragment programs of 2003 have floats without access to their bits",
    r"noise": "no chip of the time computes noise: look it up in a texture",
    r"tex(1D|2D|3D|CUBE|RECT)cmpbias":
     "ARB_fragment_program has no comparison with a bias: use tex2Dbias",
}  # fmt: skip


class CgEvaluator(Evaluator):
    """Evaluates functions of Cg, and of Brook's kernels."""

    library = Library(__package__, _REFUSED)

    def call_library(self, name: str, call: Call) -> Vector | None:
        """The same; of a lookup, as many components as its name says."""
        match = _SHORT.fullmatch(name)
        result = super().call_library(match[2] if match else name, call)
        return result[: int(match[1])] if match and result else result
