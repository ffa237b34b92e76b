"""Facts about a lookup before the program runs: the texel that it reads.

`texture` is a texture's name in a plan, or the number of a surface in the code of fused passes.
"""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.types import EVERYWHERE, Axes
from gpgpu_legacy.lower.analysis.affine import TexelForm
from gpgpu_legacy.plan.textures import Sampler

Name = TypeVar("Name", str, int)


@frozen
class OwnLookup(Generic[Name]):
    """A lookup of the fragment's own texel in a texture that the passes write: a register."""

    axes: ClassVar[Axes] = EVERYWHERE
    texture: Name


@frozen
class AffineLookup(Generic[Name]):
    """A lookup at whole texels that are affine in position and iteration.

    inside: it never leaves the texture. repeats: whether it wraps around along s and t, at most
    once; otherwise it reads the outermost texel. In the code of fused passes, s and t are relative
    to a texel from the Arguments. base: the number of that texel. Lookups in one surface with the
    same slopes share it; the first of them has the constants 0. aligned: for work groups: the base,
    and each row of the surface, begins at a multiple of four texels of one channel, so that four
    neighbours can be loaded at once.
    """

    texture: Name
    s: TexelForm
    t: TexelForm
    inside: bool
    repeats: tuple[bool, bool] = (False, False)
    base: int = 0
    aligned: bool = False

    @property
    def axes(self) -> Axes:
        """The axes along which it reads different texels."""
        return Axes(bool(self.s.x or self.t.x), bool(self.s.y or self.t.y))


@frozen
class DependentLookup(Generic[Name]):
    """A lookup at unknown coordinates, which the program computes."""

    axes: ClassVar[Axes] = EVERYWHERE
    texture: Name
    sampler: Sampler


@frozen
class NeighbourLookup(Generic[Name]):
    """A lookup near the fragment's own texel in a texture that earlier passes wrote.

    right, up: its distance in texels, the same in every fragment of every iteration.
    """

    axes: ClassVar[Axes] = EVERYWHERE
    texture: Name
    right: int
    up: int


Lookup = OwnLookup[Name] | AffineLookup[Name] | DependentLookup[Name] | NeighbourLookup[Name]
