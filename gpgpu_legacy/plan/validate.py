"""What must hold of a plan before any executor touches it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from math import isfinite

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.ir import Attribute, AttributeKind, Program, ResultKind, ResultRegister
from gpgpu_legacy.plan.expand import at_iteration
from gpgpu_legacy.plan.formats import R32F
from gpgpu_legacy.plan.plan import (
    Affine,
    ClearPass,
    ComputePass,
    CopyPass,
    FragmentPass,
    Input,
    Output,
    Pass,
    Plan,
    Rect,
    Repeat,
    Texcoords,
    Texture,
    TextureKind,
)


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
            if texture.extent.width < 1 or texture.extent.height < 1:
                raise self.fail(f"texture {texture.name} is empty; leave it out")
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
            for iteration in sorted({0, step.count - 1}):
                self.one_pass(at_iteration(each, iteration))

    def one_pass(self, each: Pass) -> None:
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
            and rect.y + rect.height <= extent.height
        )
        if not fits or min(rect.width, rect.height) < 1:
            raise self.fail(
                f"{what} covers {rect} of texture {texture.name}, which is "
                f"{extent.width} by {extent.height}"
            )

    def transfer(self, each: Input | Output) -> None:
        if each.matrix not in self.matrices:
            raise self.fail(f"no matrix is called {each.matrix}")
        texture = self.texture(each.texture)
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

    def fragment_pass(self, each: FragmentPass) -> None:
        self.drawable(each.target)
        self.inside(each.rect, self.texture(each.target), "a pass")
        self.bindings(each)
        for binding in each.bindings:
            self.read(binding.texture, "bound")
        for texcoords in each.texcoords:
            self.finite(texcoords)
        self.attributes(each.program)
        if each.blend is not each.blend.NONE:
            self.read(each.target, "blended with")
        self.defined.add(each.target)

    def drawable(self, name: str) -> None:
        if self.texture(name).kind is TextureKind.BUFFER:
            raise self.fail(f"{name} is a buffer; only kernels write to it")

    def bindings(self, each: FragmentPass) -> None:
        bound: dict[int, str] = {}
        for binding in each.bindings:
            if binding.unit in bound:
                raise self.fail(f"texture[{binding.unit}] is bound twice in one pass")
            bound[binding.unit] = binding.texture
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
        if each.target in bound.values():
            raise self.fail(
                f"texture {each.target} is read and written by one pass; write to another and "
                "copy, or take turns"
            )

    def finite(self, texcoords: Texcoords) -> None:
        for a, b, c, d in zip(*texcoords.corners, strict=True):
            assert not any(isinstance(v, Affine) for v in (a, b, c, d))
            assert isinstance(a, float | int) and isinstance(b, float | int)
            assert isinstance(c, float | int) and isinstance(d, float | int)
            if not all(map(isfinite, (a, b, c, d))):
                raise self.fail(
                    f"a corner value of texture coordinate set {texcoords.set} is not finite"
                )

    def attributes(self, program: Program) -> None:
        """Fragment passes supply texture coordinates and the window position, and take colour."""
        supplied = {AttributeKind.TEXCOORD, AttributeKind.POSITION}
        for instruction in program.instructions:
            for src in instruction.srcs:
                register = src.register
                if isinstance(register, Attribute) and register.kind not in supplied:
                    raise self.fail(
                        f"{program.name} reads fragment.{register.kind.value}, which a pass does "
                        "not supply; use fragment.texcoord[n]"
                    )
            written = instruction.dst.register if instruction.dst else None
            if isinstance(written, ResultRegister) and written.kind is not ResultKind.COLOR:
                raise self.fail(f"{program.name} writes result.depth; a pass has no depth buffer")

    def copy_pass(self, each: CopyPass) -> None:
        source, target = self.texture(each.source), self.texture(each.target)
        self.read(each.source, "copied")
        self.inside(each.source_rect, source, "a copy")
        self.inside(each.target_rect, target, "a copy")
        same_size = (each.source_rect.width, each.source_rect.height) == (
            each.target_rect.width,
            each.target_rect.height,
        )
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
        if min(each.groups) < 1:
            raise self.fail(f"{kernel.name} is dispatched for {each.groups} work groups")
        self.defined.update(each.textures(written=True))

    def clear_pass(self, each: ClearPass) -> None:
        self.texture(each.target)
        self.defined.add(each.target)
