"""Validation: the conditions that every plan must satisfy before an executor prepares it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from math import isfinite, prod
from typing import NoReturn, TypeVar

from gpgpu_legacy.errors import PlanError, described, shape_in_words
from gpgpu_legacy.isa.program import AttributeKind
from gpgpu_legacy.plan.expand import drawn_areas, extremes_of, number_at, values_of
from gpgpu_legacy.plan.framebuffer import Factor
from gpgpu_legacy.plan.numbers import Number, Table
from gpgpu_legacy.plan.plan import (
    ATTRIBUTE_DEFAULTS,
    Binding,
    ClearPass,
    ComputePass,
    CopyPass,
    Corners,
    FragmentPass,
    Pass,
    Plan,
    Repeat,
    Step,
    Until,
    varies,
)
from gpgpu_legacy.plan.textures import (
    R32F,
    Matrix,
    MovingRect,
    Rect,
    Texture,
    TextureKind,
    Transfer,
    full_rect,
    level_rect,
    rect_numbers,
    sampler_problem,
)
from gpgpu_legacy.plan.validate_passes import pass_in_words, problems

T = TypeVar("T")

_LAYERED = (TextureKind.T3D, TextureKind.CUBE)
_DRAWN_TO = (TextureKind.RECT, TextureKind.T2D)
_MIPMAPS = frozenset(TextureKind) - {TextureKind.RECT, TextureKind.BUFFER}
_GIVEN_BY_CORNERS = ATTRIBUTE_DEFAULTS.keys() - {AttributeKind.TEXCOORD}


def validate(plan: Plan) -> Validator:
    """Check a plan; raise PlanError for the first part that no executor could run.

    Returns the Validator, which can go on to check additions to the plan.

    The time does not grow with a Repeat's count if its numbers are constant or Affine: such
    numbers are extreme in the first or the last iteration, so those two are checked. Tables are
    checked value by value.
    """
    checks = Validator(plan.name)
    for field, check in (
        ("textures", checks.add),
        ("operands", partial(checks.add_matrix, "operand")),
        ("results", partial(checks.add_matrix, "result")),
        ("inputs", checks.upload),
        ("steps", checks.step),
        ("outputs", checks.output),
        ("alternating", checks.pair),
    ):
        for part in checks.each(field, getattr(plan, field)):
            check(part)
    return checks


class Validator:
    """The checks of a plan, part by part in the order in which it runs; each raises PlanError.

    textures: the ones added so far, by name. matrices: the operands and the results so far.
    defined: the names of the textures that hold something. place: where the checked part stands in
    plan.json; see `each`.
    """

    def __init__(self, name: str) -> None:
        """name: of the plan."""
        self.name = name
        self.textures: dict[str, Texture] = {}
        self.matrices: dict[str, dict[str, Matrix]] = {"operand": {}, "result": {}}
        self.defined: set[str] = set()
        self.place = ""

    def fail(self, problem: str) -> NoReturn:
        """Raise PlanError with the plan's name and the place."""
        raise PlanError(problem, plan=self.name, place=self.place)

    def each(self, where: str, items: Iterable[T]) -> Iterator[T]:
        """The items of the field `where`; meanwhile, `place` names the current item."""
        above = self.place
        for number, item in enumerate(items):
            self.place = f"{above}.{where}[{number}]".lstrip(".")
            yield item
        self.place = above

    def add(self, texture: Texture) -> None:
        """Check a texture and add it."""
        self.own_name("textures", texture.name, self.textures)
        self.extent(texture)
        self.textures[texture.name] = texture
        if texture.initial is not None:
            self.defined.add(texture.name)

    def add_matrix(self, kind: str, matrix: Matrix) -> None:
        """Check a matrix and add it. kind: operand or result."""
        self.own_name(f"{kind}s", matrix.name, self.matrices[kind])
        if min(matrix.rows, matrix.columns, *matrix.array_shape) < 0:
            self.fail(
                f"matrix {matrix.name} is {shape_in_words(matrix.array_shape)}; give sizes of at "
                "least 0"
            )
        if prod(matrix.array_shape) != matrix.rows * matrix.columns:
            self.fail(
                f"matrix {matrix.name} has {matrix.rows}×{matrix.columns} elements, but callers "
                f"give or get {shape_in_words(matrix.array_shape)}; make the two equal"
            )
        self.matrices[kind][matrix.name] = matrix

    def own_name(self, what: str, name: str, others: Container[str]) -> None:
        if name in others:
            self.fail(f"two {what} share a name, {name}; give each its own name")

    def upload(self, transfer: Transfer) -> None:
        """Check a transfer to a texture."""
        self.transfer("operand", transfer)
        self.defined.add(transfer.texture)

    def output(self, transfer: Transfer) -> None:
        """Check a transfer from a texture at the end of the plan."""
        self.transfer("result", transfer)
        self.read(transfer.texture, "read back")

    def pair(self, names: tuple[str, str]) -> None:
        for name in names:
            self.texture(name)

    def step(self, step: Step) -> None:
        """Check a step."""
        match step:
            case Until():
                self.until(step)
            case Repeat(count, body):
                if count < 0:
                    self.fail(f"a Repeat of {count} iterations; give an int of at least 0")
                for pass_ in self.each("body", body):
                    if isinstance(pass_, Repeat):
                        self.fail("a Repeat contains a Repeat; expand the inner one into passes")
                    self.one_pass(pass_, count)
            case _ if varies(step):
                self.fail(
                    f"{pass_in_words(step)} is outside of a Repeat but has a number that changes "
                    "from iteration to iteration; give a constant, or repeat the pass"
                )
            case _:
                self.one_pass(step, 1)

    def until(self, until: Until) -> None:
        """Check a loop with a condition.

        It may end before its first iteration, so it leaves defined only what was defined before it.
        """
        if not isfinite(until.below):
            self.fail(f"an Until ends below {until.below}; give a finite number")
        if not until.rounds or any(round_.iterations < 1 for round_ in until.rounds):
            self.fail("an Until has a round without iterations; give each at least 1")
        if not until.end or until.end[-1].iterations:
            self.fail("an Until asks at its end; give it a last round of 0 iterations")
        before = set(self.defined)
        for field, rounds in (("rounds", until.rounds), ("end", until.end)):
            for round_ in self.each(field, rounds):
                self.condition(round_.condition)
                now = set(self.defined)
                for pass_ in self.each("restore", round_.restore):
                    self.step(pass_)
                self.defined = now
                for step in self.each("body", round_.body):
                    self.step(step)
        self.defined = before

    def condition(self, name: str) -> None:
        """Check a texture whose texel decides whether a loop goes on."""
        extent = self.texture(name).extent
        if (extent.width, extent.rows) != (1, 1):
            self.fail(
                f"a loop ends by the texel of {name}, which has {extent.width}×{extent.rows}; give "
                "a texture of 1×1 texel, such as that of a reduction"
            )
        self.read(name, "asked whether a loop ends")

    def one_pass(self, pass_: Pass, count: int) -> None:
        """Check a pass that runs `count` times; if that is 0, check its numbers only.

        A texture that is defined in the first iteration is defined in the later ones.
        """
        for problem in problems(pass_, count):
            self.fail(problem)
        if count == 0:
            return
        match pass_:
            case FragmentPass():
                self.fragment_pass(pass_, count)
            case CopyPass():
                self.copy_pass(pass_, count)
            case ClearPass():
                self.written(pass_.target)
                self.defined.add(pass_.target)
            case ComputePass():
                self.compute_pass(pass_, count)

    def texture(self, name: str) -> Texture:
        return self.known("texture", name, self.textures)

    def known(self, kind: str, name: str, among: Mapping[str, T]) -> T:
        if name not in among:
            self.fail(f"there is no {kind} {name}; the plan has {', '.join(among) or 'none'}")
        return among[name]

    def extent(self, texture: Texture) -> None:
        kind, extent, name = texture.kind, texture.extent, texture.name
        sizes = f"{extent.width}×{extent.height}×{extent.depth}"
        if min(extent.width, extent.height, extent.depth) < 1:
            self.fail(
                f"texture {name} is empty ({sizes} texels); give it at least one texel, or leave "
                "it out"
            )
        height = {TextureKind.T1D: 1, TextureKind.CUBE: extent.width}.get(kind, extent.height)
        depth = {TextureKind.T3D: extent.depth, TextureKind.CUBE: 6}.get(kind, 1)
        if (extent.height, extent.depth) != (height, depth):
            self.fail(
                f"{kind.value} texture {name} is {sizes} texels; make it "
                f"{extent.width}×{height}×{depth}"
            )
        most = extent.most_levels(kind) if kind in _MIPMAPS else 1
        if not 1 <= extent.levels <= most:
            self.fail(
                f"{kind.value} texture {name} has {extent.levels} levels; give it 1 to {most}"
            )
        if texture.format.is_depth and kind in _LAYERED:
            self.fail(
                f"{kind.value} texture {name} is {texture.format.name}; GL has depths in 1D, 2D "
                "and RECT textures alone"
            )
        if texture.format.is_depth and texture.initial is not None:
            self.fail(f"depth texture {name} has an initial value; upload one instead")

    def read(self, name: str, how: str) -> None:
        """Check that a texture holds something. how: the way it is read, in words."""
        self.texture(name)
        if name not in self.defined:
            self.fail(
                f"texture {name} is {how} before anything was written to it; write to it first, or "
                "give it an initial value"
            )

    def inside(
        self,
        rect: Rect | MovingRect,
        texture: Texture,
        what: str,
        parts: Sequence[Rect],
        count: int = 1,
    ) -> None:
        """Check that a rectangle lies in one of these parts of a texture, such as its levels."""
        extent = texture.extent
        for i, (x, y, width, height) in _rows(rect_numbers(rect), count):
            fits = (
                x >= 0 and width >= 1 and x + width <= part.width
                and y >= part.y and height >= 1 and y + height <= part.y + part.height
                for part in parts
            )  # fmt: skip
            if not any(fits):
                moment = f" in iteration {i}" if isinstance(rect, MovingRect) else ""
                covered = Rect(*map(int, (x, y, width, height)))
                inside = "it" if parts[0].height == extent.rows else "its level 0"
                self.fail(
                    f"{what} covers {covered}{moment} of texture {texture.name}, "
                    f"which is {extent.width} by {extent.rows}; give a rectangle inside "
                    f"{'one of its levels' if len(parts) > 1 else inside} with at least one texel"
                )

    def transfer(self, kind: str, transfer: Transfer) -> None:
        """Check that a transfer's region and rectangle fit its matrix and texture.

        kind: of the matrix: operand or result. The texture need not hold anything yet.
        """
        matrix = self.known(kind, transfer.matrix, self.matrices[kind])
        texture = self.texture(transfer.texture)
        if not all(isinstance(number, int) for number in rect_numbers(transfer.rect)):
            self.fail(f"the transfer of {transfer.matrix} covers {transfer.rect}; give ints")
        if kind == "operand":
            what, parts = "transfer", [full_rect(texture)]
        else:  # what lies beside small levels is undefined
            what, parts = "read-back", _levels(texture)
        self.inside(transfer.rect, texture, f"the {what} of {transfer.matrix}", parts)
        packing = transfer.packing
        channels = len(packing.offsets)
        if channels != texture.format.channels:
            self.fail(
                f"matrix {transfer.matrix} is packed into {channels} channels, but texture "
                f"{texture.name} has {texture.format.channels}; make them equal"
            )
        offsets = chain.from_iterable(packing.offsets)
        if min(packing.row_step, packing.column_step) < 1 or min(offsets) < 0:
            self.fail(
                f"matrix {transfer.matrix} is packed by {packing}; give offsets of at least 0 and "
                "steps of at least 1"
            )
        region = transfer.region
        if (
            min(region.row, region.column, region.rows, region.columns) < 0
            or region.row + region.rows > matrix.rows
            or region.column + region.columns > matrix.columns
        ):
            self.fail(
                f"{region} lies outside matrix {matrix.name}, which is {matrix.rows}×"
                f"{matrix.columns}; give a region inside it"
            )

    def fragment_pass(self, pass_: FragmentPass, count: int) -> None:
        self.targets(pass_)
        drawn_to = self.texture(pass_.target)
        self.inside(pass_.rect, drawn_to, "a pass", _levels(drawn_to)[:1], count)
        self.bindings(pass_)
        for binding in pass_.bindings:
            self.read(binding.texture, "bound")
        self.attributes(pass_, count)
        for target in pass_.targets if pass_.blend else ():
            self.read(target, "blended with")
        self.operations(pass_, count)
        self.defined.update(pass_.targets)

    def targets(self, pass_: FragmentPass) -> None:
        if not pass_.targets:
            self.fail(f"a pass of {pass_.program.name} has no target; name a texture")
        first = self.texture(pass_.target)
        for name in pass_.targets:
            texture = self.written(name)
            if texture.kind not in _DRAWN_TO:
                self.fail(
                    f"a pass draws to {name}, which is a {texture.kind.value} texture; give a RECT "
                    "or 2D one"
                )
            if (texture.extent, texture.kind) != (first.extent, first.kind):
                self.fail(
                    f"one pass draws to {first.name} and {name}, which differ in size or kind; "
                    "give them one size and one kind"
                )
        if len(set(pass_.targets)) != len(pass_.targets):
            self.fail(f"one pass draws to {', '.join(pass_.targets)}; name each target once")
        written, given = pass_.program.color_outputs, len(pass_.targets)
        if written > given:
            self.fail(
                f"{pass_.program.name} writes result.color[{written - 1}], but its pass has "
                f"{given} target{'s' * (given > 1)}; add targets"
            )

    def operations(self, pass_: FragmentPass, count: int) -> None:
        """Check the mask, the blending and the scissor of a pass."""
        for name in pass_.targets:
            texel_format = self.texture(name).format
            if {*pass_.mask} - {*"rgba"} or not pass_.writes.channels(texel_format):
                self.fail(
                    f"mask is {described(pass_.mask)}; give channels of rgba, some of which {name} "
                    f"has: it is {texel_format.name}"
                )
        if pass_.blend and pass_.blend.destination is Factor.SRC_ALPHA_SATURATE:
            self.fail(
                "src-alpha-saturate weights what is in the target; GL has it for the source alone"
            )
        if pass_.scissor and min(area for _, area in drawn_areas(pass_, count)) < 1:
            self.fail(
                f"the scissor leaves nothing of {pass_in_words(pass_)}; give one that covers a part"
            )

    def written(self, name: str) -> Texture:
        """The texture that a pass writes to; PlanError if its format is not r, rg or rgba."""
        texture = self.texture(name)
        if not texture.format.is_drawn_to:
            self.fail(
                f"a pass writes to {name}, but {texture.format.name} is a format for lookups; give "
                "an r, rg or rgba one"
            )
        return texture

    def bindings(self, pass_: FragmentPass) -> None:
        bound = {binding.unit: binding for binding in pass_.bindings}
        for binding in pass_.bindings:
            self.sampler(binding)
        for unit, target in pass_.program.texture_units.items():
            if unit not in bound:
                self.fail(
                    f"{pass_.program.name} reads texture[{unit}], to which nothing is bound; "
                    "bind a texture"
                )
            texture, sampler = self.texture(bound[unit].texture), bound[unit].sampler
            kind = texture.kind
            if (
                target.is_shadow != bool(sampler.compare)
                or target.is_shadow > texture.format.is_depth
            ):
                self.fail(
                    f"{pass_.program.name} reads texture[{unit}] as {target.value}, but "
                    f"{texture.name} is {texture.format.name} and its sampler compares by "
                    f"{sampler.compare and sampler.compare.value}; shadow targets need a depth "
                    "format and a comparison, others have none"
                )
            if kind.value != target.kind.value:
                self.fail(
                    f"{pass_.program.name} reads texture[{unit}] as {target.value}, but "
                    f"{texture.name} is {kind.value}; bind a {target.kind.value} texture"
                )
        for name in pass_.targets:
            if name in {binding.texture for binding in pass_.bindings}:
                self.fail(
                    f"texture {name} is read and written by one pass; write to another and "
                    "copy, or alternate between two"
                )

    def sampler(self, binding: Binding) -> None:
        sampler, texture = binding.sampler, self.texture(binding.texture)
        if texture.kind is TextureKind.BUFFER:
            self.fail(f"a pass binds {texture.name}, which is a buffer; bind a texture")
        if problem := sampler_problem(sampler, texture.kind):
            self.fail(f"RECT texture {texture.name} {problem}")
        numbers = (sampler.bias, sampler.min_lod, sampler.max_lod)
        if min(sampler.base_level, sampler.max_level) < 0 or not all(map(isfinite, numbers)):
            self.fail(
                f"the sampler of {texture.name} has levels {sampler.base_level} to "
                f"{sampler.max_level}, the bias {sampler.bias} and levels of detail "
                f"{sampler.min_lod} to {sampler.max_lod}; give levels from 0 and finite numbers"
            )
        needed, levels = sampler.levels_read(texture.extent, texture.kind), texture.extent.levels
        if not needed or needed.stop > levels:
            last = needed.stop - 1
            self.fail(
                f"the mipmap {texture.name} is incomplete: its sampler reads levels "
                f"{sampler.base_level} to {last}, and it has {levels}; give it more levels, or the "
                f"sampler a base-level and a max-level from 0 to {levels - 1}, in this order"
            )

    def attributes(self, pass_: FragmentPass, count: int) -> None:
        for texcoords in pass_.texcoords:
            self.finite(f"texture coordinate set {texcoords.set}", texcoords.corners, count)
        for attribute in pass_.attributes:
            if attribute.kind not in _GIVEN_BY_CORNERS:
                self.fail(
                    f"a pass gives fragment.{attribute.kind.value} as an attribute; give only "
                    "colours and the fog coordinate so, and texture coordinates as Texcoords"
                )
            self.finite(f"fragment.{attribute.kind.value}", attribute.corners, count)

    def finite(self, name: str, corners: Corners, count: int) -> None:
        for number in chain.from_iterable(corners):
            if not all(map(isfinite, extremes_of(number, count))):
                self.fail(f"a corner value of {name} is not finite; give finite numbers")

    def copy_pass(self, pass_: CopyPass, count: int) -> None:
        source, target = self.texture(pass_.source), self.written(pass_.target)
        for texture in (source, target):
            if texture.kind not in (*_DRAWN_TO, TextureKind.BUFFER):
                self.fail(
                    f"a pass copies {texture.name}, which is a {texture.kind.value} texture; copy "
                    "RECT or 2D textures or buffers"
                )
        self.read(pass_.source, "copied")
        source_rect, target_rect = pass_.source_rect, pass_.target_rect
        self.inside(source_rect, source, "a copy", _levels(source), count)
        self.inside(target_rect, target, "a copy", _levels(target), count)
        sizes = (rect_numbers(source_rect)[2:], rect_numbers(target_rect)[2:])
        same_size = all(size[:2] == size[2:] for _, size in _rows(sum(sizes, ()), count))
        if not same_size or source.format is not target.format:
            self.fail(
                f"a copy from {pass_.source} to {pass_.target} changes size or format; make "
                "source and target equal in both"
            )
        if pass_.source == pass_.target:
            self.fail(f"texture {pass_.source} is copied to itself; copy to another")
        self.defined.add(pass_.target)

    def compute_pass(self, pass_: ComputePass, count: int) -> None:
        kernel = pass_.kernel
        bound = {b.binding: b.texture for b in pass_.buffers}
        for buffer in kernel.buffers:
            if buffer.binding not in bound:
                self.fail(
                    f"nothing is bound to buffer {buffer.name} of {kernel.name}; bind a texture of "
                    f"kind BUFFER at binding {buffer.binding}"
                )
            texture = self.texture(bound[buffer.binding])
            if texture.kind is not TextureKind.BUFFER or texture.format is not R32F:
                self.fail(
                    f"{kernel.name} accesses {texture.name}, which is not an r32f buffer; bind a "
                    "texture of kind BUFFER and format r32f"
                )
        for name in pass_.textures(written=False):
            self.read(name, "loaded from")
        given, wanted = {u.name for u in pass_.uniforms}, {u.name for u in kernel.uniforms}
        if given != wanted:
            odd = ", ".join(sorted(given ^ wanted))
            self.fail(
                f"{kernel.name} and its pass differ in the uniforms {odd}; give every uniform of "
                "the kernel a value, and no others"
            )
        for _, groups in _rows(pass_.groups, count):
            if min(groups) < 1:
                groups_x, groups_y = map(int, groups)
                self.fail(
                    f"{kernel.name} is dispatched with {groups_x} by {groups_y} work groups; give "
                    "at least 1 by 1"
                )
        self.defined.update(pass_.textures(written=True))


# Rectangles and numbers in all iterations ------------------------------------------------------


def _levels(texture: Texture) -> list[Rect]:
    """Where the levels of a texture lie in it."""
    return [level_rect(texture, level) for level in range(texture.extent.levels)]


def _rows(numbers: tuple[Number, ...], count: int) -> Iterable[tuple[int, tuple[float, ...]]]:
    """Some iterations with the numbers' values in them, always including the extremes.

    A linear function of numbers that are constant or Affine is extreme at the ends.
    """
    if any(isinstance(number, Table) for number in numbers):
        return enumerate(zip(*(values_of(number, count) for number in numbers), strict=True))
    ends = dict.fromkeys((0, count - 1))
    return ((i, tuple(number_at(number, i) for number in numbers)) for i in ends)
