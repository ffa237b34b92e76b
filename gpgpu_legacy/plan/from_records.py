"""The plan that the records of plan.json describe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import inf, nan
from typing import TYPE_CHECKING, TypeVar

from gpgpu_legacy.errors import AssemblyError, InputError
from gpgpu_legacy.isa.ir import Program, Vec4
from gpgpu_legacy.languages.registry import language_of
from gpgpu_legacy.plan import records
from gpgpu_legacy.plan.formats import FORMATS
from gpgpu_legacy.plan.limits import MOST_KERNEL_TEXT, MOST_PROGRAM_TEXT
from gpgpu_legacy.plan.numbers import Affine, Integer, Number, NumberVec4, Table
from gpgpu_legacy.plan.plan import (
    AttributeCorners,
    Binding,
    BufferBinding,
    ClearPass,
    ComputePass,
    CopyPass,
    Corners,
    FragmentPass,
    ParameterValue,
    Pass,
    Plan,
    Repeat,
    StateValue,
    Step,
    Texcoords,
    UniformValue,
)
from gpgpu_legacy.plan.textures import (
    DEFAULT_SAMPLER,
    Extent,
    Input,
    Matrix,
    MovingRect,
    Output,
    Packing,
    Rect,
    Region,
    Sampler,
    Texture,
)

if TYPE_CHECKING:
    from gpgpu_legacy.kernel.ir import Kernel

_Made = TypeVar("_Made")
_Transfer = TypeVar("_Transfer", Input, Output)


def plan_of_record(record: records.Plan, file: str) -> Plan:
    """The plan, not yet validated. file: what messages call the file.

    Raises InputError for a name that stands for nothing in the file, and AssemblyError for a
    program or a kernel that its language does not allow.
    """
    _refuse_long(record.programs, MOST_PROGRAM_TEXT, f"{file}, programs")
    _refuse_long(record.kernels, MOST_KERNEL_TEXT, f"{file}, kernels")
    steps = _Steps(
        file,
        _assembled(record.programs, lambda text, name: language_of(text).assemble(text, name),
                   f"{file}, programs"),
        _assembled(record.kernels, _kernel, f"{file}, kernels"),
    )  # fmt: skip
    return Plan(
        record.name,
        tuple(Matrix(m.name, m.rows, m.columns, m.shape) for m in record.operands),
        tuple(Matrix(m.name, m.rows, m.columns, m.shape) for m in record.results),
        tuple(map(_texture, record.textures)),
        tuple(_transfer(Input, transfer) for transfer in record.inputs),
        tuple(steps.step(step, f"steps[{n}]") for n, step in enumerate(record.steps)),
        tuple(_transfer(Output, transfer) for transfer in record.outputs),
    )


def _refuse_long(texts: Mapping[str, str], most: int, where: str) -> None:
    length = sum(map(len, texts.values()))
    if length > most:
        raise InputError(f"{where} have {length} characters together; {most} are the most allowed")


def _kernel(text: str, name: str) -> Kernel:
    from gpgpu_legacy.kernel.parser import parse_kernel

    return parse_kernel(text, name)


def _assembled(
    texts: Mapping[str, str], assemble: Callable[[str, str], _Made], where: str
) -> dict[str, _Made]:
    made: dict[str, _Made] = {}
    for name, text in texts.items():
        try:
            made[name] = assemble(text, name)
        except AssemblyError as error:
            raise AssemblyError(
                error.problem,
                text,
                error.line,
                error.column,
                f"{where}.{name}",
                diagnostics=error.diagnostics,
            ) from None
    return made


@dataclass(frozen=True)
class _Steps:
    """Makes steps of records, which name programs and kernels."""

    file: str
    programs: Mapping[str, Program]
    kernels: Mapping[str, Kernel]

    def step(self, step: records.Pass | records.Repeat, place: str) -> Step:
        if isinstance(step, records.Repeat):
            body = (self.pass_(p, f"{place}.body[{n}]") for n, p in enumerate(step.body))
            return Repeat(step.count, tuple(body))
        return self.pass_(step, place)

    def pass_(self, pass_: records.Pass, place: str) -> Pass:
        match pass_:
            case records.FragmentPass():
                program = self.named(self.programs, pass_.program, f"{place}.program")
                return _fragment_pass(pass_, program)
            case records.CopyPass():
                return CopyPass(
                    pass_.source, _rect(pass_.source_rect), pass_.target, _rect(pass_.target_rect)
                )
            case records.ClearPass():
                return ClearPass(pass_.target, _vector(pass_.value))
            case records.ComputePass():
                kernel = self.named(self.kernels, pass_.kernel, f"{place}.kernel")
                return _compute_pass(pass_, kernel)

    def named(self, texts: Mapping[str, _Made], name: str, place: str) -> _Made:
        if name in texts:
            return texts[name]
        kind = place.rpartition(".")[2]
        known = ", ".join(texts) or "none"
        raise InputError(
            f"{self.file}, {place}: there is no {kind} {name}; the file has {known} in {kind}s"
        )


def _fragment_pass(pass_: records.FragmentPass, program: Program) -> FragmentPass:
    return FragmentPass(
        program,
        tuple(map(_binding, pass_.bindings)),
        pass_.targets,
        _rect(pass_.rect),
        tuple(Texcoords(t.set, _corners(t.corners)) for t in pass_.texcoords),
        tuple(ParameterValue(p.index, _vector(p.value)) for p in pass_.locals),
        tuple(ParameterValue(p.index, _vector(p.value)) for p in pass_.env),
        pass_.blend,
        tuple(AttributeCorners(a.kind, _corners(a.corners)) for a in pass_.attributes),
        tuple(StateValue(s.binding, _vector(s.value)) for s in pass_.state),
    )


def _compute_pass(pass_: records.ComputePass, kernel: Kernel) -> ComputePass:
    groups_x, groups_y = map(_integer, pass_.groups)
    return ComputePass(
        kernel,
        tuple(BufferBinding(b.binding, b.texture) for b in pass_.buffers),
        tuple(UniformValue(u.name, _number(u.value)) for u in pass_.uniforms),
        (groups_x, groups_y),
        pass_.independent,
    )


# Textures and matrices -------------------------------------------------------------------------


def _texture(texture: records.Texture) -> Texture:
    extent, initial = texture.extent, texture.initial
    return Texture(
        texture.name,
        texture.kind,
        Extent(extent.width, extent.height, extent.depth),
        FORMATS[texture.format],
        None if initial is None else _constants(initial),
    )


def _transfer(kind: type[_Transfer], transfer: records.Transfer) -> _Transfer:
    region, rect, packing = transfer.region, transfer.rect, transfer.packing
    return kind(
        transfer.matrix,
        Region(region.row, region.column, region.rows, region.columns),
        transfer.texture,
        Rect(rect.x, rect.y, rect.width, rect.height),
        Packing(packing.offsets, packing.row_step, packing.column_step, packing.transposed),
    )


def _binding(binding: records.Binding) -> Binding:
    given = binding.sampler
    sampler = DEFAULT_SAMPLER
    if given is not None:
        sampler = Sampler(given.filter, given.wrap_s, given.wrap_t, given.wrap_r)
    return Binding(binding.unit, binding.texture, sampler)


# Numbers ---------------------------------------------------------------------------------------


def _rect(rect: records.Rect) -> Rect | MovingRect:
    x, y, width, height = map(_integer, (rect.x, rect.y, rect.width, rect.height))
    numbers = (x, y, width, height)
    if not rect.moving and not any(isinstance(number, Affine | Table) for number in numbers):
        return Rect(*numbers)  # type: ignore[arg-type]
    return MovingRect(x, y, width, height)


def _corners(corners: Iterable[records.Vector]) -> Corners:
    a, b, c, d = map(_vector, corners)
    return (a, b, c, d)


def _vector(vector: records.Vector) -> NumberVec4:
    x, y, z, w = map(_number, vector)
    return (x, y, z, w)


def _constants(vector: records.ConstantVector) -> Vec4:
    x, y, z, w = map(_constant, vector)
    return (x, y, z, w)


def _integer(number: records.Integer) -> Integer:
    match number:
        case records.Affine():
            return Affine(number.base, number.step)
        case tuple():
            return Table(number)
    return number


def _number(number: records.Number | bool | tuple[bool | records.Constant, ...]) -> Number:
    match number:
        case records.Affine():
            return Affine(number.base, number.step)
        case tuple():
            return Table(tuple(map(_constant, number)))
    return _constant(number)


_NOT_IN_JSON = {"NaN": nan, "Infinity": inf, "-Infinity": -inf}


def _constant(number: records.Constant) -> float:
    """NaN is always the same object, so that two readings of a file are equal."""
    return _NOT_IN_JSON[number] if isinstance(number, str) else number
