"""A plan as the records of plan.json."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite, isnan
from numbers import Integral
from typing import TYPE_CHECKING, TypeVar, cast

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.languages.arb.printer import disassemble
from gpgpu_legacy.plan import records
from gpgpu_legacy.plan.formats import FORMATS
from gpgpu_legacy.plan.numbers import Affine, Integer, Number, Table
from gpgpu_legacy.plan.plan import (
    Binding,
    ClearPass,
    ComputePass,
    CopyPass,
    FragmentPass,
    ParameterValue,
    Pass,
    Plan,
    Repeat,
    Step,
)
from gpgpu_legacy.plan.textures import (
    DEFAULT_SAMPLER,
    Input,
    Matrix,
    MovingRect,
    Output,
    Rect,
    Texture,
)

if TYPE_CHECKING:
    from gpgpu_legacy.kernel.ir import Kernel

_Text = TypeVar("_Text", "Program", "Kernel")


def program_names(plan: Plan) -> dict[Program, str]:
    """The distinct programs of a plan, those in Repeats of no iteration too, and a name for each.

    A name is the program's own without its folder, and could be that of a file.
    """
    drawn = (pass_.program for pass_ in _passes(plan) if isinstance(pass_, FragmentPass))
    return _named(drawn, ".fp")


def kernel_names(plan: Plan) -> dict[Kernel, str]:
    """The distinct kernels of a plan and a name for each, as `program_names` gives them."""
    dispatched = (pass_.kernel for pass_ in _passes(plan) if isinstance(pass_, ComputePass))
    return _named(dispatched, ".comp")


def _passes(plan: Plan) -> Iterator[Pass]:
    for step in plan.steps:
        if isinstance(step, Repeat):
            yield from step.body
        else:
            yield step


_LONGEST_STEM = 60


def _named(texts: Iterable[_Text], suffix: str) -> dict[_Text, str]:
    names: dict[_Text, str] = {}
    taken: set[str] = set()
    for text in dict.fromkeys(texts):
        file = re.split(r"[/\\]", text.name)[-1].partition(suffix)[0][:_LONGEST_STEM]
        stem = re.sub(r"[^A-Za-z0-9_-]+", "-", file).strip("-") or "program"
        name, number = stem + suffix, 1
        while name.lower() in taken:  # where files' names do not tell letters' cases apart
            number += 1
            name = f"{stem}-{number}{suffix}"
        taken.add(name.lower())
        names[text] = name
    return names


def plan_record(plan: Plan) -> records.Plan:
    """The plan as data. Raises InputError for a texture of a format that is none of FORMATS."""
    programs, kernels = program_names(plan), kernel_names(plan)
    steps = _Steps(programs, kernels)
    return records.Plan(
        schema="gpgpu_legacy.plan",
        version=1,
        name=plan.name,
        programs={name: disassemble(program) for program, name in programs.items()},
        kernels={name: kernel.text for kernel, name in kernels.items()},
        operands=tuple(map(_matrix, plan.operands)),
        results=tuple(map(_matrix, plan.results)),
        textures=tuple(map(_texture, plan.textures)),
        inputs=tuple(map(_transfer, plan.inputs)),
        steps=tuple(map(steps.step, plan.steps)),
        outputs=tuple(map(_transfer, plan.outputs)),
    )


@dataclass(frozen=True)
class _Steps:
    """Turns steps into records, which name programs and kernels."""

    programs: Mapping[Program, str]
    kernels: Mapping[Kernel, str]

    def step(self, step: Step) -> records.Pass | records.Repeat:
        if isinstance(step, Repeat):
            return records.Repeat(count=step.count, body=tuple(map(self.pass_, step.body)))
        return self.pass_(step)

    def pass_(self, pass_: Pass) -> records.Pass:
        match pass_:
            case FragmentPass():
                return self.fragment_pass(pass_)
            case CopyPass():
                return records.CopyPass(
                    source=pass_.source,
                    source_rect=_rect(pass_.source_rect),
                    target=pass_.target,
                    target_rect=_rect(pass_.target_rect),
                )
            case ClearPass():
                return records.ClearPass(target=pass_.target, value=_vector(pass_.value))
            case ComputePass():
                return self.compute_pass(pass_)

    def fragment_pass(self, pass_: FragmentPass) -> records.FragmentPass:
        return records.FragmentPass(
            program=self.programs[pass_.program],
            targets=pass_.targets,
            rect=_rect(pass_.rect),
            bindings=tuple(map(_binding, pass_.bindings)),
            texcoords=tuple(
                records.Texcoords(set=each.set, corners=_corners(each.corners))
                for each in pass_.texcoords
            ),
            locals=tuple(map(_parameter, pass_.locals)),
            env=tuple(map(_parameter, pass_.env)),
            blend=pass_.blend,
            attributes=tuple(
                records.AttributeCorners(kind=each.kind, corners=_corners(each.corners))
                for each in pass_.attributes
            ),
            state=tuple(
                records.StateValue(binding=each.binding, value=_vector(each.value))
                for each in pass_.state
            ),
        )

    def compute_pass(self, pass_: ComputePass) -> records.ComputePass:
        groups_x, groups_y = map(_integer, pass_.groups)
        return records.ComputePass(
            kernel=self.kernels[pass_.kernel],
            groups=(groups_x, groups_y),
            buffers=tuple(
                records.BufferBinding(binding=each.binding, texture=each.texture)
                for each in pass_.buffers
            ),
            uniforms=tuple(
                records.UniformValue(name=each.name, value=_flag_or_number(each.value))
                for each in pass_.uniforms
            ),
            independent=pass_.independent,
        )


# Textures and matrices -------------------------------------------------------------------------


def _matrix(matrix: Matrix) -> records.Matrix:
    return records.Matrix(
        name=matrix.name, rows=matrix.rows, columns=matrix.columns, shape=matrix.shape
    )


def _texture(texture: Texture) -> records.Texture:
    if FORMATS.get(texture.format.name) != texture.format:
        raise InputError(
            f"texture {texture.name} has the format {texture.format}, which plan.json lacks; "
            f"choose from {', '.join(FORMATS)}"
        )
    extent, initial = texture.extent, texture.initial
    return records.Texture(
        name=texture.name,
        kind=texture.kind,
        extent=records.Extent(width=extent.width, height=extent.height, depth=extent.depth),
        format=cast("records.FormatName", texture.format.name),
        initial=None if initial is None else _constants(initial),
    )


def _transfer(transfer: Input | Output) -> records.Transfer:
    region, rect, packing = transfer.region, transfer.rect, transfer.packing
    return records.Transfer(
        matrix=transfer.matrix,
        region=records.Region(
            row=region.row, column=region.column, rows=region.rows, columns=region.columns
        ),
        texture=transfer.texture,
        rect=records.Rectangle(x=rect.x, y=rect.y, width=rect.width, height=rect.height),
        packing=records.Packing(
            offsets=packing.offsets,
            row_step=packing.row_step,
            column_step=packing.column_step,
            transposed=packing.transposed,
        ),
    )


def _binding(binding: Binding) -> records.Binding:
    sampler = binding.sampler
    return records.Binding(
        unit=binding.unit,
        texture=binding.texture,
        sampler=None
        if sampler == DEFAULT_SAMPLER
        else records.Sampler(
            filter=sampler.filter,
            wrap_s=sampler.wrap_s,
            wrap_t=sampler.wrap_t,
            wrap_r=sampler.wrap_r,
        ),
    )


# Numbers ---------------------------------------------------------------------------------------


def _rect(rect: Rect | MovingRect) -> records.Rect:
    numbers = (rect.x, rect.y, rect.width, rect.height)
    x, y, width, height = map(_integer, numbers)
    still = all(isinstance(number, int) for number in numbers)
    moving = isinstance(rect, MovingRect) and still
    return records.Rect(x=x, y=y, width=width, height=height, moving=moving)


def _corners(corners: Iterable[Iterable[Number]]) -> records.Corners:
    a, b, c, d = map(_vector, corners)
    return (a, b, c, d)


def _parameter(parameter: ParameterValue) -> records.ParameterValue:
    return records.ParameterValue(index=parameter.index, value=_vector(parameter.value))


def _vector(vector: Iterable[Number]) -> records.Vector:
    x, y, z, w = map(_number, vector)
    return (x, y, z, w)


def _constants(vector: Iterable[float]) -> records.ConstantVector:
    x, y, z, w = map(constant_record, vector)
    return (x, y, z, w)


def _integer(number: Integer) -> records.Integer:
    match number:
        case Affine(base=base, step=step):
            return records.Affine(base=_finite(base), step=_finite(step))
        case Table(values=values):
            return tuple(map(_finite, values))
    return int(number)


def _number(number: Number) -> records.Number:
    match number:
        case Affine(base=base, step=step):
            return records.Affine(base=_finite(base), step=_finite(step))
        case Table(values=values):
            return tuple(map(constant_record, values))
    return constant_record(number)


def _flag_or_number(number: Number) -> bool | records.Number | tuple[bool | records.Constant, ...]:
    match number:
        case Table(values=values):
            return tuple(
                value if isinstance(value, bool) else constant_record(value) for value in values
            )
        case bool():
            return number
    return _number(number)


def constant_record(number: float) -> records.Constant:
    """A number of Python or NumPy as a number of Python; one that JSON lacks as a string."""
    value = _finite(number)
    if isfinite(value):
        return value
    return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _finite(number: float) -> int | float:
    """A number of Python or NumPy as a number of Python."""
    return int(number) if isinstance(number, Integral) else float(number)
