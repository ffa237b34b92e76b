"""What a method is: a name, where it comes from, and how to plan a product of a given shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from gpgpu_legacy.algorithms.matmul.matrices import operand_matrices, result_matrix
from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.matmul.scale_add import with_scale_add
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.formats import FORMATS, R32F, Numeric
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.validate import validate


@dataclass(frozen=True, slots=True)
class Method:
    """A way to multiply matrices, as one of the papers describes it.

    year: of the paper; where it bears no date, of the API or the hardware that it is about.
    lacked: what the hardware, or the API, of its day did not have.
    defaults: the options' values where the caller gives none; an option that is None here and is
    in `refuses` does not exist for this method.
    build: makes the plan of a non-empty product; shape and options have been checked.
    blocks: the blocks that there are, where not every size will do.
    scales: whether `build` sees to alpha, beta and C itself; else one more pass does.
    """

    name: str
    year: int
    paper: str
    summary: str
    defaults: Options
    build: Callable[[Shape, Options], Plan]
    aliases: tuple[str, ...] = ()
    refuses: frozenset[str] = frozenset()
    formats: tuple[str, ...] = (R32F.name,)
    blocks: tuple[int, ...] = ()
    scales: bool = False
    lacked: str = ""

    def options(self, given: Options) -> Options:
        """The given options with this method's defaults filled in; InputError where one is bad."""
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
        if options.block is not None and options.block < 1:
            raise InputError(f"the block is {options.block}; it must be at least 1")
        if options.coordinates_first is not None and options.coordinates_first < 1:
            raise InputError(
                f"coordinates of {options.coordinates_first} steps are to be computed first; "
                "it must be at least 1"
            )
        if self.blocks and options.block not in self.blocks:
            known_blocks = ", ".join(map(str, self.blocks))
            raise InputError(f"{self.name} has no block of {options.block}; take {known_blocks}")
        if options.beta != 0.0 and not options.adds:
            raise InputError("beta is given but no C; give a matrix C to add")
        if options.largest_texture < 1:
            raise InputError(
                f"the largest texture is {options.largest_texture}; it must be at least 1"
            )
        if options.texture_format not in self.formats:
            known = FORMATS.keys() & set(self.formats)
            raise InputError(
                f"{self.name} has no texture format {options.texture_format}; "
                f"choose from {', '.join(sorted(known))}"
            )
        assert options.texture_format is not None
        if options.scales and FORMATS[options.texture_format].numeric is Numeric.UNORM:
            raise InputError("alpha, beta and C need float textures; use --texture-format r32f")
        if options.block is not None and options.block > options.largest_texture:
            raise InputError(
                f"a block of {options.block} does not fit a texture of "
                f"{options.largest_texture} texels; choose a smaller block"
            )

    def plan(self, shape: Shape, options: Options | None = None) -> Plan:
        """The validated plan of a product of that shape.

        A product with a zero dimension has a plan of no passes: its result is empty or zero.
        Raises InputError for an option that the method does not have or that is out of range.
        """
        chosen = self.options(options or Options())
        if min(shape.m, shape.l, shape.n) < 0:
            raise InputError(f"a matrix has no negative size: {shape}")
        plan = self._product(shape, chosen)
        if chosen.scales and not self.scales:
            addend = operand_matrices(shape, chosen)[2] if chosen.adds else None
            plan = with_scale_add(plan, addend, chosen.alpha, chosen.beta)
        validate(plan)
        return plan

    def _product(self, shape: Shape, options: Options) -> Plan:
        """The plan of the product; where there is nothing to add up, of zeros.

        Zeros that something is added to have to be made: by a sum of one step over zeros.
        """
        if min(shape.m, shape.l, shape.n) > 0:
            return self.build(shape, options)
        operands = operand_matrices(shape, options if self.scales else replace(options, adds=False))
        if not options.scales or min(shape.m, shape.n) == 0:
            return Plan(self.name, operands, (result_matrix(shape),), (), (), (), ())
        plan = self.build(replace(shape, l=1), options)
        given = {"A", "B"}
        filled = {each.texture for each in plan.inputs if each.matrix in given}
        textures = tuple(
            replace(t, initial=(0.0, 0.0, 0.0, 0.0)) if t.name in filled else t
            for t in plan.textures
        )
        inputs = tuple(each for each in plan.inputs if each.matrix not in given)
        return replace(plan, operands=operands, textures=textures, inputs=inputs)
