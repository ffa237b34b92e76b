"""What must hold of a plan before any executor touches it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from math import isfinite

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.ir import AttributeKind
from gpgpu_legacy.plan.expand import at_iteration, varies, varying, whole_numbers
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
    Output,
    Pass,
    Plan,
    Rect,
    Repeat,
    Table,
    Texture,
    TextureKind,
    Varying,
    Wrap,
    constant_groups,
    constant_rect,
)

_LAYERED = (TextureKind.T3D, TextureKind.CUBE)
_DRAWN_TO = (TextureKind.RECT, TextureKind.T2D)
_GIVEN_BY_CORNERS = {
    AttributeKind.COLOR,
    AttributeKind.SECONDARY_COLOR,
    AttributeKind.FOGCOORD,
}


def _is_whole(*values: float) -> bool:
    return all(isfinite(value) and value == int(value) for value in values)


def validate(plan: Plan) -> None:
    """Raise PlanError, in one line, at the first thing that no executor could carry out."""
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
            self.one_pass(step)
            return
        if step.count < 0:
            raise self.fail(f"a Repeat of {step.count} iterations; the least is 0")
        if step.count == 0:
            return
        for each in step.body:
            self.varying(each, step.count)
        ends = sorted({0, step.count - 1})
        tabled = any(isinstance(n, Table) for each in step.body for n in varying(each))
        for iteration in range(step.count) if tabled else ends:
            for each in step.body:
                self.one_pass(at_iteration(each, iteration))

    def varying(self, each: Pass, count: int) -> None:
        """The numbers of a pass in a Repeat of so many iterations."""
        for number in varying(each):
            if isinstance(number, Table) and len(number.values) != count:
                raise self.fail(
                    f"a Table of {len(number.values)} values stands in a Repeat of {count} "
                    "iterations; give a value for each"
                )
        for whole in whole_numbers(each):
            if isinstance(whole, Affine) and not _is_whole(whole.base, whole.step):
                raise self.fail(f"{whole} counts texels or work groups; give whole numbers")
            if isinstance(whole, Table) and not _is_whole(*whole.values):
                raise self.fail(
                    "a Table of texels or work groups has a value that is no whole number"
                )

    def one_pass(self, each: Pass) -> None:
        if varies(each):
            raise self.fail(
                "a pass outside of a Repeat has a number that varies; give it one value, or repeat "
                "the pass"
            )
        checks: dict[type, Callable[..., None]] = {
            FragmentPass: self.fragment_pass,
            CopyPass: self.copy_pass,
            ClearPass: self.clear_pass,
            ComputePass: self.compute_pass,
        }
        checks[type(each)](each)

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

    def inside(self, rect: Rect, texture: Texture, what: str) -> None:
        extent = texture.extent
        fits = (
            rect.x >= 0
            and rect.y >= 0
            and rect.x + rect.width <= extent.width
            and rect.y + rect.height <= extent.rows
        )
        if not fits or min(rect.width, rect.height) < 1:
            raise self.fail(
                f"{what} covers {rect} of texture {texture.name}, which is "
                f"{extent.width} by {extent.rows}"
            )

    def transfer(self, each: Input | Output) -> None:
        if each.matrix not in self.matrices:
            raise self.fail(f"no matrix is called {each.matrix}")
        texture = self.texture(each.texture)
        self.inside(constant_rect(each.rect), texture, f"the transfer of {each.matrix}")
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

    def fragment_pass(self, each: FragmentPass) -> None:
        self.targets(each)
        self.inside(constant_rect(each.rect), self.texture(each.target), "a pass")
        self.bindings(each)
        for binding in each.bindings:
            self.read(binding.texture, "bound")
        self.attributes(each)
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

    def attributes(self, each: FragmentPass) -> None:
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
            self.finite(name, corners)

    def finite(self, name: str, corners: Corners) -> None:
        for number in chain.from_iterable(corners):
            assert not isinstance(number, Varying)
            if not isfinite(number):
                raise self.fail(f"a corner value of {name} is not finite")

    def copy_pass(self, each: CopyPass) -> None:
        source, target = self.texture(each.source), self.texture(each.target)
        for texture in (source, target):
            if texture.kind not in (*_DRAWN_TO, TextureKind.BUFFER):
                raise self.fail(
                    f"{texture.name} is a {texture.kind.value} texture; copies are between RECT "
                    "and 2D ones"
                )
        self.read(each.source, "copied")
        self.inside(constant_rect(each.source_rect), source, "a copy")
        self.inside(constant_rect(each.target_rect), target, "a copy")
        there, here = constant_rect(each.source_rect), constant_rect(each.target_rect)
        same_size = (there.width, there.height) == (here.width, here.height)
        if not same_size or source.format is not target.format:
            raise self.fail(
                f"a copy from {each.source} to {each.target} changes size or format; it can do "
                "neither"
            )
        if each.source == each.target:
            raise self.fail(f"texture {each.source} is copied to itself")
        self.defined.add(each.target)

    def compute_pass(self, each: ComputePass) -> None:
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
        if min(constant_groups(each.groups)) < 1:
            raise self.fail(f"{kernel.name} is dispatched for {each.groups} work groups")
        self.defined.update(each.textures(written=True))

    def clear_pass(self, each: ClearPass) -> None:
        self.texture(each.target)
        self.defined.add(each.target)
