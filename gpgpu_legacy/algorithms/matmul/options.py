"""Names that are about to go: what a method's caller chose, as an object."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from gpgpu_legacy.algorithms.matmul.product import MOST_UNROLLED as MOST_UNROLLED
from gpgpu_legacy.algorithms.matmul.product import Accumulate as Accumulate
from gpgpu_legacy.algorithms.matmul.product import Shape as _Shape
from gpgpu_legacy.algorithms.matmul.product import Sizes
from gpgpu_legacy.plan.formats import LARGEST_TEXTURE


class Shape(_Shape):
    def gflops(self, seconds: float | None) -> float | None:
        if seconds is None or seconds <= 0.0 or not self.multiply_adds:
            return None
        return 2e-9 * self.multiply_adds / seconds

    def checked(self) -> Shape:
        s = Sizes(self.n, self.m, self.l).shape
        return Shape(s.m, s.l, s.n)


@dataclass(frozen=True)
class Options:
    block: int | None = None
    accumulate: Accumulate | None = None
    texture_format: str | None = None
    transpose_a: bool = False
    transpose_b: bool = False
    as_printed: bool = False
    largest_texture: int = LARGEST_TEXTURE
    dynamic: bool = False
    alpha: float = 1.0
    beta: float = 0.0
    adds: bool = False
    coordinates_first: int | None = None
    tile: int | None = None

    @property
    def scales(self) -> bool:
        return self.adds or self.alpha != 1.0

    @property
    def is_unorm(self) -> bool:
        return self.texture_format == "unorm8"

    def turned(self, a: Any, b: Any) -> tuple[Any, Any]:
        return a.T if self.transpose_a else a, b.T if self.transpose_b else b

    def checked(self) -> Options:
        return self

    def given(self) -> dict[str, Any]:
        default = Options()
        return {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if getattr(self, f.name) != getattr(default, f.name)
        }
