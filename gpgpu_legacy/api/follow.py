"""One element of the product, followed through every pass of a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpgpu_legacy.api.passes import covers, textures_behind
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.pass_names import kind_of_pass
from gpgpu_legacy.plan.plan import Pass, Plan, written_by
from gpgpu_legacy.plan.textures import Output
from gpgpu_legacy.runtime.prepared import F32


@dataclass(frozen=True)
class Place:
    """The texel and channel from which an element of the product is read back."""

    texture: str
    x: int
    y: int
    channel: int


@dataclass(frozen=True)
class Sighting:
    """The element's value after a pass that wrote it. number: of the pass, from 0.

    kind: draw, copy, clear or dispatch. texture: the one that holds the value.
    """

    number: int
    kind: str
    texture: str
    value: float


def place_of(plan: Plan, row: int, column: int) -> Place:
    """The texel and channel that element (row, column) of the product is read from.

    Raises InputError if the product has no such element.
    """
    product = plan.results[0]
    if not (0 <= row < product.rows and 0 <= column < product.columns):
        raise InputError(
            f"the product is {product.rows}×{product.columns} and has no element {row},{column}; "
            "rows and columns count from 0"
        )
    for output in plan.outputs:
        place = _place_in(output, row, column)
        if place is not None:
            return place
    raise InputError("the product takes no pass, so there is nothing to follow; give larger sizes")


def _place_in(output: Output, row: int, column: int) -> Place | None:
    region, packing, rect = output.region, output.packing, output.rect
    i, j = row - region.row, column - region.column
    if not (0 <= i < region.rows and 0 <= j < region.columns):
        return None
    if packing.transposed:
        i, j = j, i
    for channel, (first_row, first_column) in enumerate(packing.offsets):
        y, row_rest = divmod(i - first_row, packing.row_step)
        x, column_rest = divmod(j - first_column, packing.column_step)
        inside = 0 <= y < rect.height and 0 <= x < rect.width
        if inside and row_rest == column_rest == 0:
            return Place(output.texture, rect.x + x, rect.y + y, channel)
    return None


class Follower:
    """An observer of a run that keeps the element's value after each pass that writes it.

    element: its row and column. sightings: its values, in the order of the passes.
    """

    def __init__(self, plan: Plan, row: int, column: int) -> None:
        """Raises InputError if the product has no such element."""
        self.element = row, column
        self.place = place_of(plan, row, column)
        self.sightings: list[Sighting] = []
        self._textures = textures_behind(plan, [self.place.texture])

    def __call__(self, number: int, pass_: Pass, read: Callable[[str], F32]) -> None:
        """Read the texel after a pass; see Observer."""
        place = self.place
        if not covers(pass_, place.x, place.y):
            return
        for name in self._textures.intersection(written_by(pass_)):
            value = float(read(name)[place.y, place.x, place.channel])
            self.sightings.append(Sighting(number, kind_of_pass(pass_), name, value))
