"""What must hold of a plan before any executor touches it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from math import isfinite
from numbers import Integral, Real

from gpgpu_legacy.arguments import as_instance
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.ir import AttributeKind
from gpgpu_legacy.plan.expand import (
    integers,
    number_at,
    numbers,
    rect_numbers,
    values_of,
    varies,
)
from gpgpu_legacy.plan.formats import R32F
from gpgpu_legacy.plan.plan import (
    Affine,
    Binding,
    ClearPass,
    ComputePass,
    CopyPass,
    Corners,
    FragmentPass,
    Input,
    Integer,
    MovingRect,
    Number,
    Output,
    Pass,
    PerIteration,
    Plan,
    Rect,
    Repeat,
    Table,
    Texture,
    TextureKind,
    Wrap,
)

_LAYERED = (TextureKind.T3D, TextureKind.CUBE)
_DRAWN_TO = (TextureKind.RECT, TextureKind.T2D)
_GIVEN_BY_CORNERS = {
    AttributeKind.COLOR,
    AttributeKind.SECONDARY_COLOR,
    AttributeKind.FOGCOORD,
}


def validate(plan: Plan) -> None:
    """Raise PlanError, in one line, at the first thing that no executor could run.

    A Repeat costs no more than a few iterations where its numbers are constant or Affine, since
    those are largest and smallest at its ends; Tables are read through.
    """
    as_instance("plan", plan, Plan)
    _Validator(plan).check()


class _Validator:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.textures = {texture.name: texture for texture in plan.textures}
        self.matrices = {m.name: m for m in chain(plan.operands, plan.results)}
        self.defined = {t.name for t in plan.textures if t.initial is not None}

    def fail(self, problem: str) -> PlanError:
        return PlanError(f"plan {self.plan.name}: {problem}")

    def check(self) -> None:
        if len(self.textures) != len(self.plan.textures):
            raise self.fail("two textures share a name; give each its own")
        for texture in self.plan.textures:
            self.extent(texture)
        for each in self.plan.inputs:
            self.transfer(each)
            self.defined.add(each.texture)
        for step in self.plan.steps:
            self.step(step)
        for output in self.plan.outputs:
            self.transfer(output)
            self.read(output.texture, "read back")

    def step(self, step: Pass | Repeat) -> None:
        if not isinstance(step, Repeat):
            if varies(step):
                raise self.fail(
                    f"{_called(step)} stands outside of a Repeat and has a number that varies; "
                    "give it one value, or repeat the pass"
                )
            self.one_pass(step, 1)
            return
        if not is_whole_number(step.count) or step.count < 0:
            raise self.fail(f"a Repeat of {step.count} iterations; the least is 0")
        for each in step.body:
            if isinstance(each, Repeat):
                raise self.fail("a Repeat stands in a Repeat; write the inner one out")
            self.one_pass(each, step.count)

    def one_pass(self, each: Pass, count: int) -> None:
        """A pass that runs `count` times; where that is 0, its numbers alone are looked at.

        What the first iteration may read, the later ones may.
        """
        self.numbers(each, count)
        if count == 0:
            return
        checks: dict[type, Callable[..., None]] = {
            FragmentPass: self.fragment_pass,
            CopyPass: self.copy_pass,
            ClearPass: self.clear_pass,
            ComputePass: self.compute_pass,
        }
        checks[type(each)](each, count)

    def numbers(self, each: Pass, count: int) -> None:
        """Whether all numbers of a pass are numbers, whole ones where they have to be."""
        if isinstance(each, ComputePass):
            from gpgpu_legacy.kernel.ir import Type

            types = {uniform.name: uniform.type for uniform in each.kernel.uniforms}
            for uniform in each.uniforms:
                kind, named = types.get(uniform.name), f"uniform {uniform.name} of {_called(each)}"
                if kind is not Type.BOOL:
                    self.number(uniform.value, count, named)
                if kind is not None and kind.is_integer:
                    self.whole(uniform.value, named)
        elif not set(map(type, numbers(each))) <= _PLAIN:
            for number in numbers(each):
                self.number(number, count, _called(each))
        for rect in _rects(each):
            if isinstance(rect, Rect) and any(
                isinstance(n, PerIteration) for n in rect_numbers(rect)
            ):
                raise self.fail(
                    f"{_called(each)} has numbers that vary in a Rect; give a MovingRect"
                )
        for size in integers(each):
            if not isinstance(size, PerIteration) and not is_whole_number(size):
                raise self.fail(
                    f"{_called(each)} has {size!r} for a number of texels or work groups; give an "
                    "int"
                )
            self.whole(size, f"texels or work groups of {_called(each)}")

    def number(self, number: Number, count: int, where: str) -> None:
        match number:
            case Table(values=values):
                self.table(values, count, where)
            case Affine(base=base, step=step):
                if not all(_is_number(value) and isfinite(value) for value in (base, step)):
                    raise self.fail(f"{where} has {number}; give finite numbers, or a Table")
            case _ if not _is_number(number):
                raise self.fail(f"{where} has {number!r} in place of a number; give a float")

    def table(self, values: tuple[float, ...], count: int, where: str) -> None:
        if not isinstance(values, tuple):
            raise self.fail(
                f"{where} has a Table of a {type(values).__name__}; give its values as a tuple"
            )
        if len(values) != count:
            raise self.fail(
                f"{where} has a Table of {len(values)} values in a Repeat of {count} iterations; "
                "give one value an iteration"
            )
        if not set(map(type, values)) <= _PLAIN:
            odd = next((i for i, value in enumerate(values) if not _is_number(value)), None)
            if odd is not None:
                raise self.fail(
                    f"{where} has a Table with {values[odd]!r} in iteration {odd} in place of a "
                    "number; give a float"
                )

    def whole(self, number: Number, where: str) -> None:
        match number:
            case Table(values=values) if set(map(type, values)) == {int}:
                odd = None
            case Table(values=values):
                odd = next((value for value in values if not _is_whole(value)), None)
            case Affine(base=base, step=step):
                odd = next((value for value in (base, step) if not _is_whole(value)), None)
            case _:
                odd = None if _is_whole(number) else number
        if odd is not None:
            raise self.fail(f"{where} are counted by {odd!r}; give whole numbers")

    def texture(self, name: str) -> Texture:
        if name not in self.textures:
            known = ", ".join(self.textures) or "none"
            raise self.fail(f"no texture is called {name}; there is {known}")
        return self.textures[name]

    def extent(self, texture: Texture) -> None:
        kind, extent = texture.kind, texture.extent
        if min(extent.width, extent.height, extent.depth) < 1:
            raise self.fail(f"texture {texture.name} is empty; leave it out")
        if kind is TextureKind.T1D and extent.height != 1:
            raise self.fail(f"1D texture {texture.name} has a height of {extent.height}; give it 1")
        if kind is TextureKind.CUBE and (extent.depth != 6 or extent.width != extent.height):
            raise self.fail(
                f"cube map {texture.name} has {extent.depth} faces of {extent.width} by "
                f"{extent.height}; give it 6 square ones"
            )
        if kind not in _LAYERED and extent.depth != 1:
            raise self.fail(
                f"{kind.value} texture {texture.name} has {extent.depth} layers; only 3D and CUBE "
                "textures have more than 1"
            )

    def read(self, name: str, how: str) -> None:
        self.texture(name)
        if name not in self.defined:
            raise self.fail(f"texture {name} is {how} before anything was written to it")

    def inside(self, rect: Rect | MovingRect, texture: Texture, what: str, count: int = 1) -> None:
        extent = texture.extent
        for i, (x, y, width, height) in _rows(rect_numbers(rect), count):
            across = x >= 0 and width >= 1 and x + width <= extent.width
            up = y >= 0 and height >= 1 and y + height <= extent.rows
            if not (across and up):
                covered = Rect(*map(int, (x, y, width, height)))
                raise self.fail(
                    f"{what} covers {covered}{_in_iteration(i, rect)} of texture {texture.name}, "
                    f"which is {extent.width} by {extent.rows}; keep it inside, and not empty"
                )

    def transfer(self, each: Input | Output) -> None:
        if each.matrix not in self.matrices:
            raise self.fail(f"no matrix is called {each.matrix}")
        texture = self.texture(each.texture)
        if not all(map(is_whole_number, rect_numbers(each.rect))):
            raise self.fail(f"the transfer of {each.matrix} covers {each.rect}; give ints")
        self.inside(each.rect, texture, f"the transfer of {each.matrix}")
        if len(each.packing.offsets) != texture.format.channels:
            raise self.fail(
                f"matrix {each.matrix} is packed in {len(each.packing.offsets)} channels, texture "
                f"{texture.name} has {texture.format.channels}"
            )
        matrix, region = self.matrices[each.matrix], each.region
        if (
            min(region.row, region.column) < 0
            or region.row + region.rows > matrix.rows
            or region.column + region.columns > matrix.columns
        ):
            raise self.fail(f"{region} lies outside matrix {matrix.name}")

    def fragment_pass(self, each: FragmentPass, count: int) -> None:
        self.targets(each)
        self.inside(each.rect, self.texture(each.target), "a pass", count)
        self.bindings(each)
        for binding in each.bindings:
            self.read(binding.texture, "bound")
        self.attributes(each, count)
        for target in each.targets:
            if each.blend is not each.blend.NONE:
                self.read(target, "blended with")
        self.defined.update(each.targets)

    def targets(self, each: FragmentPass) -> None:
        first = self.texture(each.target)
        for name in each.targets:
            texture = self.texture(name)
            self.drawable(name)
            if (texture.extent, texture.kind) != (first.extent, first.kind):
                raise self.fail(
                    f"one pass draws to {first.name} and {name}, which differ in size or kind; "
                    "make them alike"
                )
        if len(set(each.targets)) != len(each.targets):
            raise self.fail(
                f"one pass has a target twice, of {', '.join(each.targets)}; name each once"
            )
        written, given = each.program.color_outputs, len(each.targets)
        if written > given:
            raise self.fail(
                f"{each.program.name} writes result.color[{written - 1}], but its pass has "
                f"{given} target{'s' * (given > 1)}; add targets in `also`"
            )

    def drawable(self, name: str) -> None:
        kind = self.texture(name).kind
        if kind is TextureKind.BUFFER:
            raise self.fail(f"{name} is a buffer; only kernels write to it")
        if kind not in _DRAWN_TO:
            raise self.fail(f"{name} is a {kind.value} texture; a pass draws into RECT and 2D ones")

    def bindings(self, each: FragmentPass) -> None:
        bound: dict[int, str] = {}
        for binding in each.bindings:
            if binding.unit in bound:
                raise self.fail(f"texture[{binding.unit}] is bound twice in one pass")
            bound[binding.unit] = binding.texture
            self.sampler(binding)
        for unit, target in each.program.texture_units.items():
            if unit not in bound:
                raise self.fail(
                    f"{each.program.name} reads texture[{unit}], to which nothing is bound"
                )
            kind = self.texture(bound[unit]).kind
            if kind.value != target.value:
                raise self.fail(
                    f"{each.program.name} reads texture[{unit}] as {target.value}, but "
                    f"{bound[unit]} is {kind.value}"
                )
        for name in each.targets:
            if name in bound.values():
                raise self.fail(
                    f"texture {name} is read and written by one pass; write to another and "
                    "copy, or take turns"
                )

    def sampler(self, binding: Binding) -> None:
        sampler, texture = binding.sampler, self.texture(binding.texture)
        repeats = Wrap.REPEAT in (sampler.wrap_s, sampler.wrap_t)
        if texture.kind is TextureKind.RECT and repeats:
            raise self.fail(
                f"RECT texture {texture.name} is bound with wrap {Wrap.REPEAT.value}, which RECT "
                f"has not; use {Wrap.CLAMP.value} or {Wrap.CLAMP_TO_EDGE.value}"
            )

    def attributes(self, each: FragmentPass, count: int) -> None:
        given = [(f"texture coordinate set {t.set}", t.corners) for t in each.texcoords]
        for attribute in each.attributes:
            if attribute.kind not in _GIVEN_BY_CORNERS:
                raise self.fail(
                    f"a pass gives fragment.{attribute.kind.value} as an attribute; colours and "
                    "fogcoord are given so, texture coordinates as Texcoords, position not at all"
                )
            given.append((f"fragment.{attribute.kind.value}", attribute.corners))
        seen = set[str]()
        for name, corners in given:
            if name in seen:
                raise self.fail(f"a pass gives {name} twice; give it once")
            seen.add(name)
            self.finite(name, corners, count)

    def finite(self, name: str, corners: Corners, count: int) -> None:
        for number in chain.from_iterable(corners):
            match number:
                case Table(values=values):
                    is_finite = all(map(isfinite, values))
                case Affine():
                    is_finite = isfinite(number.at(0)) and isfinite(number.at(count - 1))
                case _:
                    is_finite = isfinite(number)
            if not is_finite:
                raise self.fail(f"a corner value of {name} is not finite; give finite numbers")

    def copy_pass(self, each: CopyPass, count: int) -> None:
        source, target = self.texture(each.source), self.texture(each.target)
        for texture in (source, target):
            if texture.kind not in (*_DRAWN_TO, TextureKind.BUFFER):
                raise self.fail(
                    f"{texture.name} is a {texture.kind.value} texture; copies are between RECT "
                    "and 2D ones"
                )
        self.read(each.source, "copied")
        there, here = each.source_rect, each.target_rect
        self.inside(there, source, "a copy", count)
        self.inside(here, target, "a copy", count)
        sizes = _rows((*_size(there), *_size(here)), count)
        same_size = all(size[:2] == size[2:] for _, size in sizes)
        if not same_size or source.format is not target.format:
            raise self.fail(
                f"a copy from {each.source} to {each.target} changes size or format; it can do "
                "neither"
            )
        if each.source == each.target:
            raise self.fail(f"texture {each.source} is copied to itself")
        self.defined.add(each.target)

    def compute_pass(self, each: ComputePass, count: int) -> None:
        kernel = each.kernel
        bound = {b.binding: b.texture for b in each.buffers}
        for buffer in kernel.buffers:
            if buffer.binding not in bound:
                raise self.fail(
                    f"{kernel.name} has a buffer {buffer.name} that nothing is bound to"
                )
            texture = self.texture(bound[buffer.binding])
            if texture.kind is not TextureKind.BUFFER or texture.format is not R32F:
                raise self.fail(f"{kernel.name} loads from {texture.name}, which is no r32f buffer")
        for name in each.textures(written=False):
            self.read(name, "loaded from")
        given, wanted = {u.name for u in each.uniforms}, {u.name for u in kernel.uniforms}
        if given != wanted:
            odd = ", ".join(sorted(given ^ wanted))
            raise self.fail(f"{kernel.name} and the pass differ in the uniforms {odd}")
        for _, groups in _rows(each.groups, count):
            if min(groups) < 1:
                across, up = map(int, groups)
                raise self.fail(
                    f"{kernel.name} is dispatched for {across} by {up} work groups; the least is 1"
                )
        self.defined.update(each.textures(written=True))

    def clear_pass(self, each: ClearPass, count: int) -> None:
        self.texture(each.target)
        self.defined.add(each.target)


# Numbers -----------------------------------------------------------------------------------------


_PLAIN = {int, float}
"""Types of numbers that need no closer look: a bool has another."""


def is_whole_number(value: object) -> bool:
    """Whether it is an int of Python or NumPy, and no bool."""
    return type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool))


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_whole(value: float) -> bool:
    return isfinite(value) and value == int(value)


def _rows(numbers: tuple[Number, ...], count: int) -> Iterable[tuple[int, tuple[float, ...]]]:
    """Iterations, with the numbers as they are then: all that it takes to know the extremes.

    What is linear in numbers without a Table is largest and smallest at the ends.
    """
    if any(isinstance(number, Table) for number in numbers):
        return enumerate(zip(*(values_of(number, count) for number in numbers), strict=True))
    ends = dict.fromkeys((0, count - 1))
    return ((i, tuple(number_at(number, i) for number in numbers)) for i in ends)


def _rects(each: Pass) -> tuple[Rect | MovingRect, ...]:
    match each:
        case FragmentPass():
            return (each.rect,)
        case CopyPass():
            return each.source_rect, each.target_rect
    return ()


def _size(rect: Rect | MovingRect) -> tuple[Integer, Integer]:
    return rect.width, rect.height


def _in_iteration(iteration: int, rect: Rect | MovingRect) -> str:
    return f" in iteration {iteration}" if isinstance(rect, MovingRect) else ""


def _called(each: Pass) -> str:
    """A pass in words."""
    match each:
        case FragmentPass():
            return f"the pass to {each.target}"
        case CopyPass():
            return f"the copy of {each.source} to {each.target}"
        case ClearPass():
            return f"the clear of {each.target}"
    return f"the dispatch of {each.kernel.name}"
