"""Commands about chips: list them, and find the largest block of a method that loads on one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.cli.groups import grouped
from gpgpu_legacy.cli.shared import (
    AccumulateBy,
    Json,
    Largest,
    MethodName,
    ShapeOption,
    Size,
    TextureFormat,
    app,
    console,
    print_json,
    shape_of,
)
from gpgpu_legacy.plan.formats import LARGEST_TEXTURE

DEFAULT_SIZE = 1024  # the largest that Hall, Carr & Hart work out


@app.command("chips")
def chips_command(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A chip or API, by name or alias.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the chips and APIs, or show everything known of one, with sources."""
    from gpgpu_legacy.chips import table as chips
    from gpgpu_legacy.chips.profile import find_profile, profiles
    from gpgpu_legacy.present.grid import print_text

    if name is None and as_json:
        print_json(chips.chips_record(profiles()))
    elif name is None:
        print_text([chips.chips_grid(profiles())], console())
    elif as_json:
        print_json(chips.chip_record(find_profile(name)))
    else:
        print_text(chips.chip_grids(find_profile(name)), console())


@dataclass(frozen=True, slots=True)
class ProductOptions:
    """A product that is planned, but not run."""

    size: Size = None
    shape: ShapeOption = None
    accumulate: AccumulateBy = None
    texture_format: TextureFormat = None
    largest_texture: Largest = LARGEST_TEXTURE

    def dimensions(self) -> Shape:
        return shape_of(self.size, self.shape, DEFAULT_SIZE)

    def options(self, block: int | None = None) -> Options:
        return Options(
            block=block,
            accumulate=self.accumulate,
            texture_format=self.texture_format,
            largest_texture=self.largest_texture,
        )


@app.command("fit")
@grouped
def fit_command(
    method: MethodName,
    chip: Annotated[str, typer.Option("--chip", metavar="NAME", help="See `gpgpu-legacy chips`.")],
    product: ProductOptions,
    as_json: Json = False,
) -> None:
    """Find the largest block of a method that loads on a chip, and why the next does not."""
    from gpgpu_legacy.chips.profile import find_profile
    from gpgpu_legacy.present.grid import print_text
    from gpgpu_legacy.studies.largest_block.model import fit
    from gpgpu_legacy.studies.largest_block.table import fit_grids

    profile = find_profile(chip)
    result = fit(find_method(method), profile, product.dimensions(), product.options())
    if as_json:
        print_json(result)
    else:
        print_text(fit_grids(result, profile), console())
