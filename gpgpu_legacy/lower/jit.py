"""Compute kernels to native code: a Kernel becomes Python text, which numba compiles.

Its function runs work groups one after another; threads share them out (runtime/jit.py). In a work
group, each statement is done at its level: once for the group where it is the same for all
invocations (_GROUP), once a row of invocations where it depends on gl_LocalInvocationID.y alone
(_ROW), else once an invocation. Statements of the lower levels stand outside of the loops over rows
(ty) and invocations (tx); what follows one another at a higher level shares a loop. A barrier ends
the loops, so a statement that holds one must be at the level of the group. It is the loop fission
of OpenCL on CPUs.

A `for` is at its condition's level, too: where it is the same for all invocations it goes around
the loop over tx, which then reads rows in order and vectorises. Only a `for` with constant bounds
stays inside: LLVM unrolls it, and the loop over tx vectorises all the same, sums in registers.

Three passes: `_versions` (renaming, so that updated indices cut no loop in two), `_Analysis` (the
level of every variable), `_Scheduler` (which loops, around what); then `_Printer`.

Results are the reference machine's, bit for bit, NaN's sign and payload apart. So is what stops a
run, an access outside of its array: where lower/bounds.py has not proven that there is none, the
code checks, and raises IndexError.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from hashlib import sha256
from itertools import count
from math import inf, prod
from threading import RLock
from types import ModuleType
from typing import Any, TypeVar
from weakref import finalize

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.kernel.accesses import numbered, with_inside
from gpgpu_legacy.kernel.dependence import check_data_independent, control_variables
from gpgpu_legacy.kernel.ir import (
    Assign,
    Barrier,
    Binary,
    BuiltIn,
    BuiltInComponent,
    Component,
    Convert,
    Declare,
    Element,
    Expression,
    For,
    If,
    Kernel,
    Literal,
    LValue,
    Select,
    Space,
    Statement,
    Type,
    Unary,
    Uniform,
    Variable,
    Vector,
    has_barrier,
)
from gpgpu_legacy.lower.forks import held_across_forks

_GROUP, _ROW, _INVOCATION = 0, 1, 2

MOST_STACK = 2**21
"""Bytes of the shared arrays of a work group, and of the variables that all of its invocations
keep. They are on the stack of a thread, which may have 8 MiB."""

_PARTS = ("x", "y", "z", "w")
DTYPES = {
    Type.BOOL: "bool_",
    Type.INT: "int32",
    Type.UINT: "uint32",
    Type.FLOAT: "float32",
    Type.DOUBLE: "float64",
    Type.VEC4: "float32",
}
"""What NumPy calls a scalar, or a part of a vec4."""

_Node = TypeVar("_Node")


# Walks over the data of a kernel -------------------------------------------------------------


def _inner(node: object) -> Iterator[object]:
    """The node and all that it is made of."""
    yield node
    if isinstance(node, tuple):
        for each in node:
            yield from _inner(each)
    elif is_dataclass(node):
        for field in fields(node):
            yield from _inner(getattr(node, field.name))


def _variables(node: object) -> set[str]:
    return {each.name for each in _inner(node) if isinstance(each, Variable)}


def _target(statement: object) -> Variable | None:
    """The private variable that a statement declares or assigns, if any."""
    match statement:
        case Declare(variable=variable):
            return variable
        case Assign(target=Variable() as variable):
            return variable
        case Assign(target=Component(vector=Variable() as variable)):
            return variable
    return None


def _assigned(node: object) -> set[str]:
    targets = (_target(each) for each in _inner(node))
    return {target.name for target in targets if target is not None}


def _renamed(node: _Node, names: Mapping[str, str]) -> _Node:
    """The node with its variables renamed."""
    result: Any = node
    if isinstance(node, Variable):
        result = replace(node, name=names.get(node.name, node.name))
    elif isinstance(node, tuple):
        result = tuple(_renamed(each, names) for each in node)
    elif is_dataclass(node) and not isinstance(node, type):
        parts = {each.name: _renamed(getattr(node, each.name), names) for each in fields(node)}
        result = replace(node, **parts)
    renamed: _Node = result
    return renamed


# Versions of indices -------------------------------------------------------------------------


def _versions(statements: tuple[Statement, ...], number: Iterator[int]) -> tuple[Statement, ...]:
    """The statements with a new variable for each new value of an integer, as far as that goes.

    After `v = B[i]; i += n; w = B[i];` the second value of i can be computed before both loads, so
    that they stand in one loop. Versions end where a nested statement assigns the variable, and
    with the list. The steps of a `for` move to the end of its body.
    """
    made: list[Statement] = []
    latest: dict[str, Variable] = {}  # the version that holds a variable's value
    owners: dict[str, Variable] = {}
    tail = _tail(statements)

    def write_back(names: Iterable[str]) -> None:
        for name in sorted(names & latest.keys()):
            made.append(Assign(owners[name], latest.pop(name)))

    for place, statement in enumerate(statements):
        write_back(_assigned(statement) if isinstance(statement, If | For) else set())
        names = {name: version.name for name, version in latest.items()}
        match statement:
            case Assign(target=Variable(type=kind, name=name) as variable, value=value) if (
                kind.is_integer and place < tail
            ):
                version = Variable(kind, f"{next(number)}_{name}")  # no name of GLSL begins so
                made.append(Declare(version, _renamed(value, names)))
                latest[name], owners[name] = version, variable
            case Assign(target=Variable(name=name) as variable, value=value):
                made.append(Assign(variable, _renamed(value, names)))
                latest.pop(name, None)
            case If(condition=condition, then=then, otherwise=otherwise):
                then, otherwise = _versions(then, number), _versions(otherwise, number)
                made.append(_renamed(If(condition, then, otherwise), names))
            case For(start=start, condition=condition, step=step, body=body):
                body = _versions(body + step, number)
                made.append(_renamed(For(start, condition, (), body), names))
            case _:
                made.append(_renamed(statement, names))
    declared = {each.variable.name for each in statements if isinstance(each, Declare)}
    write_back(latest.keys() - declared)
    return tuple(made)


def _tail(statements: tuple[Statement, ...]) -> int:
    """Where the assignments to integers begin that end the list: those cut nothing."""
    end = len(statements)
    while end and isinstance(last := statements[end - 1], Assign) and last.target.type.is_integer:
        end -= 1
    return end


# Levels --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Varies:
    """How a value varies in a work group: its level, and a constant slope along tx.

    An integer below the level of invocations is base + slope·tx (modulo 2³²) with a base of that
    level. Only the base is kept, so that indices need no array and rows are read in order.
    """

    level: int
    slope: int = 0


_LARGEST_SLOPE = 1 << 10  # base + slope·tx then stays far from wrapping around 32 bits twice


class _Analysis:
    """The level of every private variable: a fixed point over all of its assignments."""

    def __init__(self, kernel: Kernel, body: tuple[Statement, ...]) -> None:
        self.kernel = kernel
        across, up = kernel.local_size
        self.finest = _INVOCATION if across > 1 else _ROW if up > 1 else _GROUP
        stores = (each.target for each in _inner(body) if isinstance(each, Assign))
        self.written = {place.array for place in stores if isinstance(place, Element)}
        self.variables: dict[str, _Varies] = {}
        before: dict[str, _Varies] | None = None
        while before != self.variables:
            before = dict(self.variables)
            self.visit(body, _GROUP)

    def visit(self, statements: tuple[Statement, ...], control: int) -> None:
        """Statements that are reached under conditions of the level `control`."""
        for statement in statements:
            match statement:
                case Declare(variable=variable, value=value):
                    self.join(variable, value, control)
                case Assign(value=value):
                    target = _target(statement)
                    if target is not None:
                        self.join(target, value, control)
                case If(condition=condition, then=then, otherwise=otherwise):
                    inside = max(control, self.of(condition).level)
                    self.visit(then, inside)
                    self.visit(otherwise, inside)
                case For(start=start, body=body):
                    inside = max(control, self.loop_level(statement))
                    self.visit(start, inside)
                    self.visit(body, inside)
                case Barrier():
                    pass

    def join(self, variable: Variable, value: Expression | None, control: int) -> None:
        """One more assignment to a variable."""
        new = _Varies(_GROUP) if value is None else self.of(value)
        old = self.variables.get(variable.name, new)
        level = max(new.level, old.level, control)
        self.variables[variable.name] = self.limited(
            level if new.slope == old.slope else self.finest, new.slope
        )

    def loop_level(self, loop: For) -> int:
        """The level at which a `for` stands."""
        short = _is_constant(loop) and not has_barrier(loop.body)
        return self.finest if short else self.of(loop.condition).level

    def level(self, statement: Statement) -> int:
        """The level at which a statement is carried out; of an `if` or `for`, its condition's."""
        match statement:
            case If(condition=condition):
                return self.of(condition).level
            case For():
                return self.loop_level(statement)
            case Barrier():
                return _GROUP
        target = _target(statement)
        return self.finest if target is None else self.variables[target.name].level

    def limited(self, level: int, slope: int) -> _Varies:
        if level == self.finest or abs(slope) > _LARGEST_SLOPE:
            return _Varies(self.finest)
        return _Varies(level, slope)

    def flat(self, *parts: Expression) -> _Varies:
        """What no slope comes through."""
        found = [self.of(part) for part in parts]
        sloping = any(each.slope for each in found)
        return _Varies(self.finest if sloping else max(each.level for each in found))

    def of(self, expression: Expression) -> _Varies:  # noqa: PLR0911 - a case each
        """How an expression varies, as far as the variables are known."""
        match expression:
            case Literal() | Uniform():
                return _Varies(_GROUP)
            case Variable(name=name):
                # Unknown yet: taken as the least, until the fixed point has seen it.
                return self.variables.get(name, _Varies(_GROUP))
            case BuiltInComponent():
                return self.identity(expression)
            case Element(array=array, indices=indices):
                return _Varies(self.finest) if array in self.written else self.flat(*indices)
            case Component(vector=vector):
                return self.of(vector)
            case Vector(parts=parts):
                return self.flat(*parts)
            case Select(condition=condition, chosen=chosen, other=other):
                return self.flat(condition, chosen, other)
            case Convert(type=kind, operand=operand):
                exact = kind.is_integer and operand.type.is_integer
                return self.of(operand) if exact else self.flat(operand)
            case Unary(operand=operand):
                return self.flat(operand)
            case Binary(type=kind, operator=operator, left=left, right=right):
                sums = kind.is_integer and operator in ("+", "-", "*")
                return self.affine(operator, left, right) if sums else self.flat(left, right)

    def affine(self, operator: str, left: Expression, right: Expression) -> _Varies:
        a, b = self.of(left), self.of(right)
        level = max(a.level, b.level)
        if operator != "*":
            return self.limited(level, a.slope + (b.slope if operator == "+" else -b.slope))
        for factor, other in ((left, b), (right, a)):
            if isinstance(factor, Literal):
                return self.limited(level, int(factor.value) * other.slope)
        return self.flat(left, right)

    def identity(self, expression: BuiltInComponent) -> _Varies:
        axis = expression.axis
        if expression.built_in is BuiltIn.WORK_GROUP_ID or (*self.kernel.local_size, 1)[axis] == 1:
            return _Varies(_GROUP)
        return _Varies(_ROW) if axis == 1 else _Varies(_GROUP, 1)


def _is_constant(loop: For) -> bool:
    """Whether a loop's bounds are literals, as far as its condition tells."""
    literals = {
        each.variable.name
        for each in loop.start
        if isinstance(each, Declare) and isinstance(each.value, Literal)
    }
    parts = list(_inner(loop.condition))
    unknown = any(isinstance(each, Uniform | BuiltInComponent | Element) for each in parts)
    return not unknown and _variables(loop.condition) <= literals


# Loops ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Loop:
    """A loop over the rows of a work group, or over the invocations of a row."""

    level: int
    body: tuple[_Step, ...]


@dataclass(frozen=True)
class _Branch:
    condition: Expression
    then: tuple[_Step, ...]
    otherwise: tuple[_Step, ...]


@dataclass(frozen=True)
class _While:
    condition: Expression
    body: tuple[_Step, ...]


_Step = Declare | Assign | _Loop | _Branch | _While


class _Scheduler:
    """Puts loops around statements. `level`: inside of which loops they stand already."""

    def __init__(self, kernel: Kernel, analysis: _Analysis) -> None:
        self.kernel, self.analysis = kernel, analysis

    def schedule(self, statements: tuple[Statement, ...], level: int) -> tuple[_Step, ...]:
        steps: list[_Step] = []
        waiting: list[Statement] = []  # of higher levels, for one loop

        def close() -> None:
            if waiting:
                steps.append(_Loop(level + 1, self.schedule(tuple(waiting), level + 1)))
                waiting.clear()

        for statement in statements:
            if self.analysis.level(statement) > level:
                self.check(statement)
                waiting.append(statement)
                continue
            target = _target(statement)
            # Nothing waiting assigns what this reads, for it reads its own level and below.
            if target is None or target.name in _variables(tuple(waiting)):
                close()
            steps.extend(self.step(statement, level))
        close()
        return tuple(steps)

    def step(self, statement: Statement, level: int) -> tuple[_Step, ...]:
        match statement:
            case Declare() | Assign():
                return (statement,)
            case If(condition=condition, then=then, otherwise=otherwise):
                branches = self.schedule(then, level), self.schedule(otherwise, level)
                return (_Branch(condition, *branches),)
            case For(start=start, condition=condition, body=body):
                loop = _While(condition, self.schedule(body, level))
                return (*self.schedule(start, level), loop)
            case Barrier():
                return ()

    def check(self, statement: Statement) -> None:
        if has_barrier((statement,)):
            kind = "an if" if isinstance(statement, If) else "a for"
            raise PlanError(
                f"{self.kernel.name}: a barrier stands in {kind} whose condition is not the same "
                "for all invocations of a work group; let it depend on uniforms and work group only"
            )


def _kept_in_arrays(steps: tuple[_Step, ...], analysis: _Analysis) -> dict[str, tuple[int, ...]]:
    """Variables that outlive a loop over ty or tx, with the levels of those loops."""
    seen: dict[tuple[str, int], set[int]] = {}
    numbers = count()

    def visit(steps: tuple[_Step, ...], loops: dict[int, int]) -> None:
        for step in steps:
            if isinstance(step, _Loop):
                visit(step.body, {**loops, step.level: next(numbers)})
                continue
            own: object = step
            if isinstance(step, _Branch | _While):
                own = step.condition
                inner = (step.then, step.otherwise) if isinstance(step, _Branch) else (step.body,)
                for each in inner:
                    visit(each, loops)
            for name in _variables(own):
                for level in range(_ROW, analysis.variables[name].level + 1):
                    seen.setdefault((name, level), set()).add(loops[level])

    visit(steps, {})
    arrays: dict[str, tuple[int, ...]] = {}
    for (name, level), loops in sorted(seen.items()):
        if len(loops) > 1:
            arrays[name] = (*arrays.get(name, ()), level)
    return arrays


# Text ----------------------------------------------------------------------------------------

# Intrinsics, for numba takes a tenth of a second for each call of a compiled function.
_HEADER = """\
import numpy as np
from llvmlite import ir
from numba import carray
from numba.core import cgutils, types
from numba.extending import intrinsic

I64, F64 = ir.IntType(64), ir.DoubleType()


@intrinsic(prefer_literal=True)
def stack(context, dtype, length):
    # On the stack, LLVM knows that an array is no other; one from np.empty it would not.
    def pointer(context, builder, signature, arguments):
        element = context.get_data_type(signature.return_type.dtype)
        return cgutils.alloca_once(builder, element, size=length.literal_value)

    return types.CPointer(dtype.dtype)(dtype, length), pointer


def divided(context, builder, signature, arguments):
    # Both numbers on 64 bits, and the quotient, towards 0; by 0 it is 0.
    wide = [context.cast(builder, value, kind, types.int64)
            for value, kind in zip(arguments, signature.args)]
    by_zero = builder.icmp_signed("==", wide[1], I64(0))
    found = builder.sdiv(wide[0], builder.select(by_zero, I64(1), wide[1]))
    return *wide, builder.select(by_zero, I64(0), found)


@intrinsic
def quotient(context, a, b):
    def code(context, builder, signature, arguments):
        return divided(context, builder, signature, arguments)[2]

    return types.int64(a, b), code


@intrinsic
def remainder(context, a, b):
    def code(context, builder, signature, arguments):
        left, right, found = divided(context, builder, signature, arguments)
        return builder.sub(left, builder.mul(found, right))

    return types.int64(a, b), code


@intrinsic
def nearest(context, value, low, high):
    # What is too large for an integer becomes the nearest one, NaN becomes 0.
    def code(context, builder, signature, arguments):
        value, low, high = [context.cast(builder, each, kind, types.float64)
                            for each, kind in zip(arguments, signature.args)]
        value = builder.select(builder.fcmp_ordered("<", value, low), low, value)
        value = builder.select(builder.fcmp_ordered(">", value, high), high, value)
        number = builder.fcmp_ordered("ord", value, value)
        return builder.fptosi(builder.select(number, value, F64(0.0)), I64)

    return types.int64(value, low, high), code


@intrinsic
def inside(context, index, length, number, failed):
    # The index as uint64, of which one below 0 is a large one; failed: an int64 of two.
    def code(context, builder, signature, arguments):
        kinds = signature.args
        index, length, number = [context.cast(builder, value, kind, types.int64)
                                 for value, kind in zip(arguments[:3], kinds)]
        outside = builder.icmp_unsigned(">=", index, length)
        with builder.if_then(outside, likely=False):
            places = context.make_array(kinds[3])(context, builder, arguments[3]).data
            builder.store(number, places)
            builder.store(index, builder.gep(places, [I64(1)]))
            context.call_conv.return_user_exc(builder, IndexError, ())
        return index

    return types.uint64(index, length, number, failed), code


"""

_COLUMNS = "tx in range(columns)"
_CALLS = {"/": "quotient", "%": "remainder"}
_WORDS = {"&&": "and", "||": "or"}


class _Printer:
    """Python text. Names have a letter before them, for what GLSL allows may be a word of Python's.

    Integers are kept as int32 and uint32; numba computes on 64 bits, and the cast afterwards drops
    what wraps around. A part is 0 to 3 in a vec4, 0 elsewhere.
    """

    def __init__(self, kernel: Kernel, analysis: _Analysis, steps: tuple[_Step, ...]) -> None:
        self.kernel, self.analysis, self.steps = kernel, analysis, steps
        self.arrays = _kept_in_arrays(steps, analysis)
        self.kinds = {v.name: v.type for v in _inner(steps) if isinstance(v, Variable)}
        self.lines: list[str] = []

    def text(self) -> str:
        """The whole module."""
        buffers = [f"b_{buffer.name}" for buffer in self.kernel.buffers]
        uniforms = [f"u_{uniform.name}" for uniform in self.kernel.uniforms]
        arguments = [*buffers, *uniforms, "failed", "columns", "across", "first", "last"]
        self.add(0, f"def {_ENTRY}({', '.join(arguments)}):")
        self.check_stack()
        for array in self.kernel.shared:
            length = prod(array.extents)
            self.add(1, f"s_{array.name} = {_stack(array.type, length)}")
        for name, levels in self.arrays.items():
            length = prod(self.size(level) for level in levels)
            kind = self.kinds[name]
            for part in range(_width(kind)):
                self.add(1, f"{self.name(name, part)} = {_stack(kind, length)}")
        self.add(1, "for group in range(first, last):")
        self.add(2, "gx, gy = group % across, group // across")
        for array in self.kernel.shared:
            self.add(2, f"s_{array.name}[:] = 0")
        self.print(self.steps, 2, _GROUP)
        return _HEADER + "\n".join(self.lines) + "\n"

    def check_stack(self) -> None:
        lengths = [(array.type, prod(array.extents)) for array in self.kernel.shared]
        for name, levels in self.arrays.items():
            kind = self.kinds[name]
            lengths.append((kind, _width(kind) * prod(self.size(level) for level in levels)))
        size = sum(length * (8 if kind is Type.DOUBLE else 4) for kind, length in lengths)
        if size > MOST_STACK:
            raise PlanError(
                f"{self.kernel.name}: a work group needs {size} bytes for its shared arrays and "
                f"variables; native code has {MOST_STACK}: make the work groups smaller"
            )

    def add(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def size(self, level: int) -> int:
        across, up = self.kernel.local_size
        return up if level == _ROW else across

    # Statements -----------------------------------------------------------------------------

    def print(self, steps: tuple[_Step, ...], depth: int, level: int) -> None:
        """The steps, inside of the loops up to `level`."""
        for step in steps:
            match step:
                case Declare(variable=variable, value=value):
                    initial = Literal(variable.type, 0) if value is None else value
                    self.assign(variable, initial, depth, level)
                case Assign(target=place, value=value):
                    self.assign(place, value, depth, level)
                case _Loop(level=inner, body=body):
                    # A constant number of columns LLVM would unroll, and then not vectorise.
                    head = f"ty in range({self.size(_ROW)})" if inner == _ROW else _COLUMNS
                    self.add(depth, f"for {head}:")
                    self.print(body, depth + 1, inner)
                case _While(condition=condition, body=body):
                    self.add(depth, f"while {self.value(condition, level)}:")
                    self.print(body, depth + 1, level)
                    self.end_block(body, depth + 1)
                case _Branch(condition=condition, then=then, otherwise=otherwise):
                    self.add(depth, f"if {self.value(condition, level)}:")
                    self.print(then, depth + 1, level)
                    self.end_block(then, depth + 1)
                    if otherwise:
                        self.add(depth, "else:")
                        self.print(otherwise, depth + 1, level)
                        self.end_block(otherwise, depth + 1)

    def end_block(self, body: tuple[_Step, ...], depth: int) -> None:
        if not body:
            self.add(depth, "pass")

    def assign(self, place: LValue, value: Expression, depth: int, level: int) -> None:
        match place:
            case Variable(type=kind, name=name):
                # A variable with a slope keeps its base, which is its value at tx = 0.
                below = min(level, self.analysis.variables[name].level)
                targets = [self.variable(name, part) for part in range(_width(kind))]
                values = [self.value(value, below, part) for part in range(_width(kind))]
                self.add(depth, f"{', '.join(targets)} = {', '.join(values)}")
            case Component(vector=Variable(name=name), index=part):
                self.add(depth, f"{self.variable(name, part)} = {self.value(value, level)}")
            case Element():
                self.add(depth, f"{self.element(place, level)} = {self.value(value, level)}")

    # Places ---------------------------------------------------------------------------------

    def name(self, name: str, part: int) -> str:
        return f"v_{name}_{_PARTS[part]}" if self.kinds[name] is Type.VEC4 else f"v_{name}"

    def variable(self, name: str, part: int) -> str:
        """Where a variable is kept, in the loops that stand open there."""
        plain = self.name(name, part)
        index = {
            (): "",
            (_ROW,): "[ty]",
            (_INVOCATION,): "[tx]",
            (_ROW, _INVOCATION): f"[ty * {self.size(_INVOCATION)} + tx]",
        }
        return plain + index[self.arrays.get(name, ())]

    def element(self, element: Element, level: int) -> str:
        letter = "b" if element.space is Space.BUFFER else "s"
        name, flat = f"{letter}_{element.array}", self.flat(element, level)
        if element.is_inside:
            return f"{name}[np.uint64({flat})]"
        length = f"{name}.size"
        if element.space is Space.SHARED:
            length = str(prod(self.extents(element)))
        return f"{name}[inside({flat}, {length}, {element.number}, failed)]"

    def extents(self, element: Element) -> tuple[int, ...]:
        return next(s.extents for s in self.kernel.shared if s.name == element.array)

    def flat(self, element: Element, level: int) -> str:
        """The index in the flattened array, as int64."""
        read = self.index if element.is_inside else self.any_index
        flat = read(element.indices[0], level)
        if element.space is Space.BUFFER:
            return flat
        for index, extent in zip(element.indices[1:], self.extents(element)[1:], strict=True):
            flat = f"({flat}) * {extent} + {read(index, level)}"
        return flat

    def any_index(self, index: Expression, level: int) -> str:
        """An index as int64, whatever it is."""
        return f"np.int64({self.value(index, level)})"

    def index(self, index: Expression, level: int) -> str:
        """An index that is inside as int64: the base as an int32, so that base + slope·tx is exact.

        The sum is right modulo 2³², no further than 2³² from 0, and an array has less than 2³¹
        elements (integers.MOST_ELEMENTS): so it is the index, without another cast that would hide
        that rows are read in order.
        """
        slope = self.analysis.of(index).slope if level == _INVOCATION else 0
        base = self.value(index, _ROW if slope else level)
        signed = base if index.type is Type.INT else f"np.int32({base})"
        return f"np.int64({signed}){_along_row(slope)}"

    # Expressions ----------------------------------------------------------------------------

    def value(  # noqa: PLR0911 - a case each
        self, expression: Expression, level: int, part: int = 0
    ) -> str:
        """A part of an expression's value, inside of the loops up to `level`; tx is 0 outside."""
        match expression:
            case Literal(type=kind, value=number):
                text = "np.inf" if number == inf else repr(number)
                return f"np.{DTYPES[kind]}({text})"
            case Variable():
                return self.read(expression, level, part)
            case Uniform(name=name):
                return f"u_{name}"
            case BuiltInComponent():
                return self.identity(expression, level)
            case Element():
                return self.element(expression, level)
            case Component(vector=vector, index=index):
                return self.value(vector, level, index)
            case Vector(parts=parts):
                return self.value(parts[part], level)
            case Select(condition=condition, chosen=chosen, other=other):
                left, right = self.value(chosen, level, part), self.value(other, level, part)
                return f"({left} if {self.value(condition, level)} else {right})"
            case Convert(type=kind, operand=operand):
                return self.convert(kind, operand.type, self.value(operand, level))
            case Unary(type=kind, operator=operator, operand=operand):
                word = {"!": "not "}.get(operator, operator)
                return f"np.{DTYPES[kind]}({word}{self.value(operand, level, part)})"
            case Binary(type=kind, operator=operator, left=left, right=right):
                operands = self.value(left, level, part), self.value(right, level, part)
                return self.operate(kind, operator, *operands)

    def read(self, variable: Variable, level: int, part: int) -> str:
        kept = self.variable(variable.name, part)
        slope = self.analysis.variables[variable.name].slope
        if not slope or level != _INVOCATION:
            return kept
        return f"np.{DTYPES[variable.type]}(np.int64({kept}){_along_row(slope)})"

    def operate(self, kind: Type, operator: str, left: str, right: str) -> str:
        if not kind.is_integer:
            return f"({left} {_WORDS.get(operator, operator)} {right})"
        if operator in _CALLS:
            return f"np.{DTYPES[kind]}({_CALLS[operator]}({left}, {right}))"
        return f"np.{DTYPES[kind]}({left} {operator} {right})"

    def convert(self, kind: Type, given: Type, value: str) -> str:
        if kind is Type.BOOL:
            return f"({value} != 0)"
        if given is Type.BOOL:
            return f"(np.{DTYPES[kind]}(1) if {value} else np.{DTYPES[kind]}(0))"
        if kind.is_integer and not given.is_integer:
            low, high = (0.0, 2.0**32 - 1) if kind is Type.UINT else (-(2.0**31), 2.0**31 - 1)
            return f"np.{DTYPES[kind]}(nearest({value}, {low}, {high}))"
        return f"np.{DTYPES[kind]}({value})"

    def identity(self, expression: BuiltInComponent, level: int) -> str:
        """A component of a built-in vector, as uint32."""
        axis = expression.axis
        if axis == 2:
            return "np.uint32(0)"
        size = self.kernel.local_size[axis]
        group = f"g{'xy'[axis]}"
        is_open = level >= (_INVOCATION, _ROW)[axis]
        local = f"t{'xy'[axis]}" if is_open else "0"
        whole = f"{group} * {size} + {local}"
        text = {
            BuiltIn.WORK_GROUP_ID: group,
            BuiltIn.LOCAL_INVOCATION_ID: local,
            BuiltIn.GLOBAL_INVOCATION_ID: whole,
        }
        return f"np.uint32({text[expression.built_in]})"


def _along_row(slope: int) -> str:
    return {0: "", 1: " + tx"}.get(slope, f" + {slope} * tx")


def _stack(kind: Type, length: int) -> str:
    return f"carray(stack(np.{DTYPES[kind]}, {length}), {length})"


def _width(kind: Type) -> int:
    return 4 if kind is Type.VEC4 else 1


def python_text(kernel: Kernel, unproven: frozenset[int] | None = None) -> str:
    """The Python module of a kernel, whose function `work_groups` numba compiles.

    unproven: the accesses that it checks; all, unless given. Its arguments: the buffers and
    uniforms in the kernel's order; two int64 for the number of an access that was outside, and its
    index; invocations of a work group along x, work groups along x, the first work group (counted
    row after row) and the one after the last.
    Raises PlanError where a barrier is not reached by all invocations of a work group alike, or
    for a vec4 as a uniform or in shared memory.
    """
    kinds = [u.type for u in kernel.uniforms] + [array.type for array in kernel.shared]
    if Type.VEC4 in kinds:
        raise PlanError(f"{kernel.name}: vec4 is a type of private variables only")
    kernel = _marked(kernel, unproven)
    body = _versions(kernel.body, count(1))
    analysis = _Analysis(kernel, body)
    steps = _Scheduler(kernel, analysis).schedule(body, _GROUP)
    return _Printer(kernel, analysis, steps).text()


def _marked(kernel: Kernel, unproven: frozenset[int] | None) -> Kernel:
    kernel = numbered(kernel)
    return kernel if unproven is None else with_inside(kernel, unproven)


# Addresses -----------------------------------------------------------------------------------


class _AddressPrinter(_Printer):
    """A kernel of one invocation a work group that goes where it goes, and touches no data.

    It keeps the variables that conditions and indices are made of; each load and store becomes a
    line and a kind in two arrays, which are handed over whenever they are full.
    """

    def __init__(
        self, kernel: Kernel, analysis: _Analysis, steps: tuple[_Step, ...], kept: frozenset[str]
    ) -> None:
        super().__init__(kernel, analysis, steps)
        self.kept = kept

    def text(self) -> str:
        """The whole module."""
        uniforms = [f"u_{uniform.name}" for uniform in self.kernel.uniforms]
        arguments = ["lines", "kinds", "shift", "places", *uniforms, "failed"]
        arguments += ["across", "first", "last"]
        self.add(0, f"def {_ADDRESSES}({', '.join(arguments)}):")
        kernel = self.kernel
        names = [b.name for b in kernel.buffers] + [array.name for array in kernel.shared]
        for number, name in enumerate(names):
            for column, letter in enumerate("pwkn"):
                self.add(1, f"{letter}_{name} = places[{number}, {column}]")
        self.add(1, "at = 0")
        self.add(1, "for group in range(first, last):")
        self.add(2, "gx, gy = group % across, group // across")
        self.print(self.steps, 2, _GROUP)
        self.add(1, "yield at")
        return _HEADER + "\n".join(self.lines) + "\n"

    def assign(self, place: LValue, value: Expression, depth: int, level: int) -> None:
        self.accesses(value, depth)
        if isinstance(place, Element):
            self.access(place, depth, store=True)
        elif _variables(place) <= self.kept:
            super().assign(place, value, depth, level)

    def end_block(self, body: tuple[_Step, ...], depth: int) -> None:
        self.add(depth, "pass")  # what is in the body may all have been data

    def accesses(self, node: object, depth: int) -> None:
        """The loads that an expression makes, in the order in which it is evaluated."""
        if not any(isinstance(each, Element) for each in _inner(node)):
            return
        match node:
            case Element():
                self.access(node, depth, store=False)
            case Select(condition=condition, chosen=chosen, other=other):
                self.add(depth, f"if {self.value(condition, _GROUP)}:")
                self.accesses(chosen, depth + 1)
                self.end_block((), depth + 1)
                self.add(depth, "else:")
                self.accesses(other, depth + 1)
                self.end_block((), depth + 1)
            case Binary(operator="&&" | "||" as operator, left=left, right=right):
                self.accesses(left, depth)
                negated = "not " * (operator == "||")
                self.add(depth, f"if {negated}{self.value(left, _GROUP)}:")
                self.accesses(right, depth + 1)
                self.end_block((), depth + 1)
            case tuple():
                for each in node:
                    self.accesses(each, depth)
            case _ if is_dataclass(node):
                for field in fields(node):
                    self.accesses(getattr(node, field.name), depth)

    def access(self, element: Element, depth: int, *, store: bool) -> None:
        name, flat = element.array, self.flat(element, _GROUP)
        inside = depth
        if not element.is_inside:
            self.add(depth, f"inside({flat}, n_{name}, {element.number}, failed)")
        if element.space is Space.SHARED:
            self.add(depth, f"if k_{name} >= 0:")
            inside += 1
        self.add(inside, f"lines[at] = (p_{name} + ({flat}) * w_{name}) >> shift")
        self.add(inside, f"kinds[at] = k_{name}{' + 1' * store}")
        self.add(inside, "at += 1")
        self.add(inside, "if at == lines.size:")
        self.add(inside + 1, "yield at")
        self.add(inside + 1, "at = 0")


def address_text(kernel: Kernel, unproven: frozenset[int] | None = None) -> str:
    """The Python module whose generator `addresses` says where a kernel loads and stores.

    For kernels of one invocation a work group, in which data decides nothing. unproven: as for
    python_text. The generator's arguments: `lines`, int64 [accesses], and `kinds`, of any integer
    type, which it fills; by how many bits an address is shifted right to be a line; `places`, int64
    [arrays, 4], of the buffers and then the shared arrays in the kernel's order: address, bytes of
    an element, kind of a load (a store's is one more; less than 0 for shared arrays that make no
    accesses), elements; uniforms; as for python_text, two int64 for an access that was outside;
    work groups along x, the first work group and the one after the last. It yields how many
    accesses it has put into `lines` and `kinds`: all that these hold, and at last what is left.
    Raises PlanError for other kernels.
    """
    if kernel.threads != 1:
        raise PlanError(f"{kernel.name} has {kernel.threads} invocations a work group and not one")
    check_data_independent(kernel)
    kernel = _marked(kernel, unproven)
    body = _versions(kernel.body, count(1))
    analysis = _Analysis(kernel, body)
    steps = _Scheduler(kernel, analysis).schedule(body, _GROUP)
    return _AddressPrinter(kernel, analysis, steps, control_variables(body)).text()


# Native code ---------------------------------------------------------------------------------

_ENTRY, _ADDRESSES = "work_groups", "addresses"

WorkGroups = Callable[..., None]
"""A compiled kernel; see python_text."""

Addresses = Callable[..., Iterator[int]]
"""A compiled generator; see address_text."""


def compile_kernel(kernel: Kernel, unproven: frozenset[int] | None = None) -> WorkGroups:
    """The native code of a kernel, which holds no lock of Python's while it runs.

    unproven: the numbers of the accesses that may be outside of their arrays, as lower/bounds.py
    finds them for a dispatch; all may, unless given. The code raises IndexError there instead. It
    is kept in the user's cache folder, for later processes, where there is one to write to. Any
    number of threads may ask. Raises what python_text does.
    """
    with _LOCK:
        return _kernel(kernel, unproven)


def compile_addresses(kernel: Kernel, unproven: frozenset[int] | None = None) -> Addresses:
    """The native code of address_text, compiled when it is first called, and kept likewise."""
    with _LOCK:
        return _addresses(kernel, unproven)


# Held by who makes code.
_LOCK = held_across_forks(RLock())


@lru_cache(maxsize=64)
def _kernel(kernel: Kernel, unproven: frozenset[int] | None) -> WorkGroups:
    import numba

    text = python_text(kernel, unproven)
    buffers = [numba.float32[::1]] * len(kernel.buffers)
    uniforms = [getattr(numba, DTYPES[uniform.type]) for uniform in kernel.uniforms]
    signature = numba.void(*buffers, *uniforms, numba.int64[::1], *[numba.int64] * 4)
    made: WorkGroups = _compiled(text, _ENTRY, signature)
    return made


@lru_cache(maxsize=64)
def _addresses(kernel: Kernel, unproven: frozenset[int] | None) -> Addresses:
    made: Addresses = _compiled(address_text(kernel, unproven), _ADDRESSES)
    return made


def _compiled(text: str, entry: str, signature: Any = None) -> Callable[..., Any]:
    """The function of that name of a module's text, as native code."""
    from gpgpu_legacy.lower.numba_code import compile_text_function

    module = ModuleType(f"kernel_{sha256(text.encode()).hexdigest()[:24]}")
    exec(compile(text, module.__name__, "exec"), module.__dict__)
    # Where numba looks for the module when it reads kept code: as long as there is code of it.
    sys.modules[module.__name__] = module
    made = compile_text_function(getattr(module, entry), text, signature)
    finalize(made, _forget, module)
    return made


def _forget(module: ModuleType) -> None:
    if sys.modules.get(module.__name__) is module:
        del sys.modules[module.__name__]
