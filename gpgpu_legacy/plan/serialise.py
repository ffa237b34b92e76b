"""A plan as JSON: the file plan.json that `--dump` writes.

Every field has its name from plan/plan.py; steps and passes have a "kind" besides. A number that is
constant is a JSON number. One that changes from iteration to iteration is an object:
{"base", "step"} for an Affine and {"values"}, one for each iteration, for a Table. A MovingRect is
a Rect with such objects for numbers. JSON has no NaN and no infinities; they are the strings "NaN",
"Infinity" and "-Infinity". A program is the name of the file that holds its text, a kernel its name
and its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite, isnan
from numbers import Integral
from typing import TYPE_CHECKING

from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.plan.formats import Format
from gpgpu_legacy.plan.numbers import Affine, Number, Table
from gpgpu_legacy.plan.plan import (
    Binding,
    Blend,
    BufferBinding,
    ClearPass,
    ComputePass,
    CopyPass,
    FragmentPass,
    Pass,
    Plan,
    Repeat,
    Step,
)
from gpgpu_legacy.plan.textures import (
    Extent,
    Input,
    Matrix,
    MovingRect,
    Output,
    Rect,
    Texture,
    TextureKind,
)
from gpgpu_legacy.serial import Record, json_text

if TYPE_CHECKING:
    from gpgpu_legacy.kernel.ir import Kernel


class PerIterationRecord(Record, frozen=True, kw_only=True, omit_defaults=True):
    """An Affine, which has base and step, or a Table, which has values."""

    base: int | float | str | None = None
    step: int | float | str | None = None
    values: tuple[int | float | str, ...] | None = None


NumberRecord = int | float | str | PerIterationRecord
VectorRecord = tuple[NumberRecord, NumberRecord, NumberRecord, NumberRecord]
CornersRecord = tuple[VectorRecord, VectorRecord, VectorRecord, VectorRecord]


class TextureRecord(Record, frozen=True, kw_only=True):
    """A Texture."""

    name: str
    kind: TextureKind
    extent: Extent
    format: Format
    initial: VectorRecord | None


class RectRecord(Record, frozen=True, kw_only=True):
    """A Rect or a MovingRect."""

    x: NumberRecord
    y: NumberRecord
    width: NumberRecord
    height: NumberRecord


class TexcoordsRecord(Record, frozen=True, kw_only=True):
    """A texture coordinate set, by its values at the corners."""

    set: int
    corners: CornersRecord


class AttributeRecord(Record, frozen=True, kw_only=True):
    """A colour or the fog coordinate, by its values at the corners."""

    kind: str
    corners: CornersRecord


class ParameterRecord(Record, frozen=True, kw_only=True):
    """An element of program.local or program.env."""

    index: int
    value: VectorRecord


class StateRecord(Record, frozen=True, kw_only=True):
    """A vector of GL state, by its canonical name."""

    binding: str
    value: VectorRecord


class FragmentPassRecord(Record, frozen=True, kw_only=True, tag_field="kind", tag="FragmentPass"):
    """A FragmentPass; program: the name of the file that holds its text."""

    program: str
    bindings: tuple[Binding, ...]
    targets: tuple[str, ...]
    rect: RectRecord
    texcoords: tuple[TexcoordsRecord, ...]
    locals: tuple[ParameterRecord, ...]
    env: tuple[ParameterRecord, ...]
    blend: Blend
    attributes: tuple[AttributeRecord, ...]
    state: tuple[StateRecord, ...]


class CopyPassRecord(Record, frozen=True, kw_only=True, tag_field="kind", tag="CopyPass"):
    """A CopyPass."""

    source: str
    source_rect: RectRecord
    target: str
    target_rect: RectRecord


class ClearPassRecord(Record, frozen=True, kw_only=True, tag_field="kind", tag="ClearPass"):
    """A ClearPass."""

    target: str
    value: VectorRecord


class KernelRecord(Record, frozen=True, kw_only=True):
    """A kernel, by its source text."""

    name: str
    text: str


class UniformRecord(Record, frozen=True, kw_only=True):
    """A kernel's uniform; bool: of a uniform of type bool."""

    name: str
    value: bool | NumberRecord


class ComputePassRecord(Record, frozen=True, kw_only=True, tag_field="kind", tag="ComputePass"):
    """A ComputePass."""

    kernel: KernelRecord
    buffers: tuple[BufferBinding, ...]
    uniforms: tuple[UniformRecord, ...]
    groups: tuple[NumberRecord, NumberRecord]
    independent: bool


PassRecord = FragmentPassRecord | CopyPassRecord | ClearPassRecord | ComputePassRecord


class RepeatRecord(Record, frozen=True, kw_only=True, tag_field="kind", tag="Repeat"):
    """A Repeat."""

    count: int
    body: tuple[PassRecord, ...]


class PlanRecord(Record, frozen=True, kw_only=True):
    """A Plan."""

    name: str
    operands: tuple[Matrix, ...]
    results: tuple[Matrix, ...]
    textures: tuple[TextureRecord, ...]
    inputs: tuple[Input, ...]
    steps: tuple[PassRecord | RepeatRecord, ...]
    outputs: tuple[Output, ...]


def plan_as_json(plan: Plan, program_files: Mapping[Program, str]) -> str:
    """The text of plan.json.

    program_files: the name of the file of each program that `written_programs` returns.
    """
    return json_text(plan_record(plan, program_files))


def written_programs(plan: Plan) -> tuple[Program, ...]:
    """The distinct programs that a plan names, even those in Repeats of no iteration."""
    bodies = (step.body if isinstance(step, Repeat) else (step,) for step in plan.steps)
    drawn = (pass_ for body in bodies for pass_ in body if isinstance(pass_, FragmentPass))
    return tuple(dict.fromkeys(pass_.program for pass_ in drawn))


def plan_record(plan: Plan, program_files: Mapping[Program, str]) -> PlanRecord:
    """The plan as data, as `plan_as_json` writes it."""
    return PlanRecord(
        name=plan.name,
        operands=plan.operands,
        results=plan.results,
        textures=tuple(map(_texture, plan.textures)),
        inputs=plan.inputs,
        steps=tuple(_step(step, program_files) for step in plan.steps),
        outputs=plan.outputs,
    )


def _step(step: Step, files: Mapping[Program, str]) -> PassRecord | RepeatRecord:
    if isinstance(step, Repeat):
        body = tuple(_pass(pass_, files) for pass_ in step.body)
        return RepeatRecord(count=step.count, body=body)
    return _pass(step, files)


def _pass(pass_: Pass, files: Mapping[Program, str]) -> PassRecord:
    match pass_:
        case FragmentPass():
            return _fragment_pass(pass_, files[pass_.program])
        case CopyPass():
            return CopyPassRecord(
                source=pass_.source,
                source_rect=_rect(pass_.source_rect),
                target=pass_.target,
                target_rect=_rect(pass_.target_rect),
            )
        case ClearPass():
            return ClearPassRecord(target=pass_.target, value=_vector(pass_.value))
        case ComputePass():
            groups_x, groups_y = map(_number, pass_.groups)
            return ComputePassRecord(
                kernel=_kernel(pass_.kernel),
                buffers=pass_.buffers,
                uniforms=tuple(
                    UniformRecord(name=uniform.name, value=_number(uniform.value))
                    for uniform in pass_.uniforms
                ),
                groups=(groups_x, groups_y),
                independent=pass_.independent,
            )


def _fragment_pass(pass_: FragmentPass, file: str) -> FragmentPassRecord:
    return FragmentPassRecord(
        program=file,
        bindings=pass_.bindings,
        targets=pass_.targets,
        rect=_rect(pass_.rect),
        texcoords=tuple(
            TexcoordsRecord(set=texcoords.set, corners=_corners(texcoords.corners))
            for texcoords in pass_.texcoords
        ),
        locals=tuple(
            ParameterRecord(index=local.index, value=_vector(local.value)) for local in pass_.locals
        ),
        env=tuple(ParameterRecord(index=env.index, value=_vector(env.value)) for env in pass_.env),
        blend=pass_.blend,
        attributes=tuple(
            AttributeRecord(kind=attribute.kind.value, corners=_corners(attribute.corners))
            for attribute in pass_.attributes
        ),
        state=tuple(
            StateRecord(binding=state.binding, value=_vector(state.value)) for state in pass_.state
        ),
    )


def _kernel(kernel: Kernel) -> KernelRecord:
    return KernelRecord(name=kernel.name, text=kernel.text)


def _texture(texture: Texture) -> TextureRecord:
    return TextureRecord(
        name=texture.name,
        kind=texture.kind,
        extent=texture.extent,
        format=texture.format,
        initial=None if texture.initial is None else _vector(texture.initial),
    )


def _rect(rect: Rect | MovingRect) -> RectRecord:
    return RectRecord(
        x=_number(rect.x),
        y=_number(rect.y),
        width=_number(rect.width),
        height=_number(rect.height),
    )


def _corners(corners: Iterable[Iterable[Number]]) -> CornersRecord:
    a, b, c, d = map(_vector, corners)
    return (a, b, c, d)


def _vector(vector: Iterable[Number]) -> VectorRecord:
    x, y, z, w = map(_number, vector)
    return (x, y, z, w)


def _number(number: Number) -> NumberRecord:
    match number:
        case Affine(base=base, step=step):
            return PerIterationRecord(base=_constant(base), step=_constant(step))
        case Table(values=values):
            return PerIterationRecord(values=tuple(map(_constant, values)))
    return _constant(number)


def _constant(number: float) -> int | float | str:
    """A number of Python or NumPy as a number of Python; one that JSON lacks as a string."""
    if isinstance(number, bool):
        return number
    if isinstance(number, Integral):
        return int(number)
    value = float(number)
    if isfinite(value):
        return value
    return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
