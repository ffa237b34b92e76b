"""Facts about lookups that are known before a program runs: the texel that each reads.

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
    """A lookup of the fragment's own texel in a texture that the passes write.

    The texel can stay in a register.
    """

    axes: ClassVar[Axes] = EVERYWHERE
    texture: Name


@frozen
class AffineLookup(Generic[Name]):
    """A lookup at whole texels that are affine in position and iteration.

    inside: it never leaves the texture. repeats: whether it wraps around along s and t, at most
    once; otherwise it reads the outermost texel. base: in the code of fused passes, the number of
    the texel in the Arguments that s and t are relative to. Lookups in one surface with the same
    slopes share a base; the first of them has the constants 0. aligned: for work groups, whether
    the texels have one channel, and the base and each row of the surface begin at a multiple of
    four texels, so that four neighbours can be loaded at once.
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
    """A lookup at coordinates that are known only when the program runs."""

    axes: ClassVar[Axes] = EVERYWHERE
    texture: Name
    sampler: Sampler


@frozen
class NeighbourLookup(Generic[Name]):
    """A lookup near the fragment's own texel in a texture that earlier passes wrote.

    right, up: the distance in texels, the same in every fragment of every iteration.
    """

    axes: ClassVar[Axes] = EVERYWHERE
    texture: Name
    right: int
    up: int


Lookup = OwnLookup[Name] | AffineLookup[Name] | DependentLookup[Name] | NeighbourLookup[Name]
