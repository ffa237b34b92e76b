"""A method: its name, its source, and how it plans a product of a given shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from gpgpu_legacy.algorithms.matmul.matrices import add_operands, add_result
from gpgpu_legacy.algorithms.matmul.options import MOST_UNROLLED, SIZES, Options, Shape
from gpgpu_legacy.algorithms.matmul.scale_add import with_scale_add
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.formats import FORMATS, R32F
from gpgpu_legacy.plan.plan import Plan


@dataclass(frozen=True)
class Method:
    """A way to multiply matrices, as a paper or a library describes it.

    year: of the publication; for an undated one, of the API or hardware that it describes.
    paper: where the method was published.
    summary: the method in one line.
    lacked: what the hardware or API of the day did not offer.
    defaults: the values of options that the caller leaves open.
    build: builds the plan of a non-empty product; shape and options have been checked.
    aliases: other names by which users find it.
    refuses: the names of options that the method does not have.
    formats: the names of the texture formats that it can use.
    blocks: the block sizes that it supports; empty if it supports all.
    scales: whether `build` applies alpha, beta and C itself. For other methods `plan` appends a
    pass that does.
    """

    name: str
    year: int
    paper: str
    summary: str
    defaults: Options
    build: Callable[[Shape, Options], PlanBuilder]
    aliases: tuple[str, ...] = ()
    refuses: frozenset[str] = frozenset()
    formats: tuple[str, ...] = (R32F.name,)
    blocks: tuple[int, ...] = ()
    scales: bool = False
    lacked: str = ""

    def options(self, given: Options) -> Options:
        """The given options, with this method's defaults for those left open.

        Raises InputError for an option of the wrong type or out of range, and for one that the
        method does not have.
        """
        given = given.checked()
        for name in sorted(self.refuses):
            if getattr(given, name) not in (getattr(Options(), name), getattr(self.defaults, name)):
                raise InputError(f"{self.name} takes no --{name.replace('_', '-')}; leave it out")
        missing = {
            field.name: getattr(self.defaults, field.name)
            for field in fields(given)
            if getattr(given, field.name) is None
        }
        options = replace(given, **missing)
        self._check(options)
        return options

    def _check(self, options: Options) -> None:
        for name, unit in SIZES.items():
            size = getattr(options, name)
            if size is not None and size < 1:
                raise InputError(f"{name} is {size}; it must be at least 1{unit}")
        if self.blocks and options.block not in self.blocks:
            known_blocks = ", ".join(map(str, self.blocks))
            raise InputError(
                f"{self.name} supports no block of {options.block}; choose from {known_blocks}"
            )
        if options.beta != 0.0 and not options.adds:
            raise InputError("beta is set but there is no C to scale; give C, or leave beta out")
        if options.texture_format not in self.formats:
            known = FORMATS.keys() & set(self.formats)
            raise InputError(
                f"{self.name} cannot use the texture format {options.texture_format}; "
                f"choose from {', '.join(sorted(known))}"
            )
        if options.scales and options.is_unorm:
            raise InputError(
                "alpha, beta and C need float textures; set the texture format to r32f"
            )
        if options.block is not None and options.block > options.largest_texture:
            raise InputError(
                f"a block of {options.block} does not fit a texture of "
                f"{options.largest_texture} texels; choose a smaller block or larger textures"
            )
        if options.block is not None and options.block > MOST_UNROLLED:
            raise InputError(
                f"block is {options.block}; a program unrolls at most {MOST_UNROLLED} iterations"
            )

    def plan(self, shape: Shape, options: Options | None = None) -> Plan:
        """The plan of a product of that shape, validated; see `builder`."""
        return self.builder(shape, options).plan()

    def builder(self, shape: Shape, options: Options | None = None) -> PlanBuilder:
        """What builds the plan of a product of that shape.

        If a size is 0, the result is empty or zero and the plan needs no pass, except to scale or
        add C. Raises InputError for a negative size and for options that `options` rejects.
        """
        chosen = self.options(Options() if options is None else options)
        shape = shape.checked()
        builder = self._product(shape, chosen)
        if not chosen.scales or self.scales:
            return builder
        return with_scale_add(builder.plan(), chosen)

    def _product(self, shape: Shape, options: Options) -> PlanBuilder:
        """The builder of AB alone. If the inner size is 0, AB is zero.

        A zero product that C will be added to needs a texture, so it is computed: as a product
        with inner size 1 whose operand textures are filled with zeros.
        """
        if min(shape.m, shape.l, shape.n) > 0:
            return self.build(shape, options)
        empty = PlanBuilder(self.name)
        operands = add_operands(empty, shape, options, addend=self.scales)
        add_result(empty, shape)
        if not options.scales or min(shape.m, shape.n) == 0:
            return empty
        plan = self.build(replace(shape, l=1), options).plan()
        factors = {"A", "B"}
        filled = {transfer.texture for transfer in plan.inputs if transfer.matrix in factors}
        textures = tuple(
            replace(t, initial=(0.0, 0.0, 0.0, 0.0)) if t.name in filled else t
            for t in plan.textures
        )
        inputs = tuple(transfer for transfer in plan.inputs if transfer.matrix not in factors)
        return PlanBuilder.continuing(
            replace(plan, operands=operands, textures=textures, inputs=inputs)
        )
