"""The reference machine for compute kernels: all invocations at once, in NumPy.

A value is an array that broadcasts to (groups y, groups x, local y, local x). A value that is equal
in a work group is therefore computed once per work group, and one that depends only on
gl_LocalInvocationID.x once per column. Invocations run in lockstep, statement by statement, under a
mask where control flow diverges, so barriers need no code. Each work group has its own shared
arrays.

Machines without data follow only the operations of a kernel, and their addresses. These must depend
on integers and uniforms alone, never on loaded data (isa/kernel.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.interp.numeric import Storage
from gpgpu_legacy.isa.expressions import (
    BuiltIn,
    Choice,
    Compose,
    Constant,
    Element,
    Expression,
    Invocation,
    Operation,
    Read,
    Role,
    Swizzle,
)
from gpgpu_legacy.isa.kernel import RANGES, outside_error, uniform_loops
from gpgpu_legacy.isa.statements import Assign, Barrier, Declare, If, Loop, Statement, Store, walk
from gpgpu_legacy.isa.types import DTYPES, UINT, Kind, Operator, Type
from gpgpu_legacy.plan.plan import ComputePass, constant_groups

Array = NDArray[Any]
"""A scalar in every invocation; a vec4 has one more dimension, the first, for its components."""

Mask = NDArray[np.bool_] | None
"""The active invocations; None if all are."""

BATCH_THREADS = 1 << 17  # invocations per batch: float32 planes of 512 KiB

_DTYPES: dict[Kind, type[np.generic]] = {kind: getattr(np, name) for kind, name in DTYPES.items()}


@frozen
class WorkGroups:
    """The work groups that run together, along x and y: first, first + 1, … first + count - 1."""

    first: tuple[int, int]
    count: tuple[int, int]


def run_compute_pass(dispatch: ComputePass, textures: Mapping[str, Storage]) -> None:
    """Execute one dispatch of an expanded plan on the buffers that it binds.

    textures: the contents of the plan's textures by name, updated in place. Work groups run in
    batches, one batch after another. Raises PlanError if an invocation loads or stores outside of
    an array.
    """
    names = {b.binding: b.texture for b in dispatch.buffers}
    buffers = {
        b.name: textures[names[b.binding]].planes[0].reshape(-1) for b in dispatch.kernel.buffers
    }
    groups_x, groups_y = constant_groups(dispatch.groups)
    width = min(groups_x, max(1, BATCH_THREADS // dispatch.kernel.threads))
    rows = max(1, BATCH_THREADS // (width * dispatch.kernel.threads))
    for y in range(0, groups_y, rows):
        for x in range(0, groups_x, width):
            grid = WorkGroups((x, y), (min(width, groups_x - x), min(rows, groups_y - y)))
            KernelMachine(dispatch, grid, buffers).run()


class KernelMachine:
    """Runs the kernel of a dispatch on some of its work groups."""

    def __init__(self, pass_: ComputePass, grid: WorkGroups, buffers: Mapping[str, Array]) -> None:
        """buffers: their elements, by name in the kernel; updated in place."""
        kernel, values = pass_.kernel, pass_.uniform_values
        self.kernel, self.grid, self.buffers = kernel, grid, buffers
        with np.errstate(over="ignore"):
            self.uniforms = {u.name: _scalar(values[u.name], u.type) for u in kernel.uniforms}
        self.variables: dict[str, Array] = {}
        self.mask: Mask = None
        self.groups = (grid.count[1], grid.count[0])
        self.shape = (*self.groups, kernel.local_size[1], kernel.local_size[0])
        self.ranges = np.ogrid[tuple(map(slice, self.shape))]
        """The numbers 0, 1, … along each of the four dimensions."""
        self.shared = {
            array.name: np.zeros((*self.groups, *array.extents), _DTYPES[array.element.kind])
            for array in kernel.shared
        }

    def run(self) -> None:
        """Run every invocation of the grid to its end."""
        with np.errstate(all="ignore"):
            self.statements(self.kernel.body)

    # Statements -----------------------------------------------------------------------------

    def statements(self, statements: tuple[Statement, ...]) -> None:
        for statement in statements:
            match statement:
                case Declare(variable=variable, value=value):
                    self.variables[variable.name] = (
                        _scalar(0, variable.type) if value is None else self.value(value)
                    )
                case Assign():
                    self.assign(statement)
                case Store(element=element, value=value):
                    self.store(element, self.value(value))
                case If():
                    self.branch(statement)
                case Loop():
                    self.loop(statement)
                case Barrier():
                    self.barrier()

    def barrier(self) -> None:
        """Execute a barrier: do nothing, since invocations run in lockstep."""

    def branch(self, statement: If) -> None:
        outer, condition = self.mask, self.value(statement.condition)
        for taken, body in ((condition, statement.then), (~condition, statement.otherwise)):
            self.mask = narrowed(outer, taken)
            if body and _is_any(self.mask):
                self.statements(body)
        self.mask = outer

    def loop(self, statement: Loop) -> None:
        self.statements(statement.start)
        outer = self.mask
        for _ in self.trips(statement):
            self.statements(statement.body)
        self.mask = outer

    def trips(self, loop: Loop) -> Iterator[Mask]:
        """Yield the mask of each trip, and execute the loop's step and condition in between."""
        self.mask = narrowed(self.mask, self.value(loop.condition))
        while _is_any(self.mask):
            yield self.mask
            self.statements(loop.step)
            self.mask = narrowed(self.mask, self.value(loop.condition))

    def assign(self, statement: Assign) -> None:
        value, name = self.value(statement.value), statement.variable.name
        if len(statement.components) == statement.variable.type.width:
            self.variables[name] = self.merged(value, self.variables[name])
        else:
            parts, [index] = _components(self.variables[name]), statement.components
            parts[index] = self.merged(value, parts[index])
            self.variables[name] = _vector(parts)

    def merged(self, value: Array, before: Array) -> Array:
        """A value in the active invocations, and what was before in the others."""
        return value if self.mask is None else np.where(self.mask, value, before)

    # Memory ---------------------------------------------------------------------------------

    def load(self, element: Element) -> Array:
        array, where = self.at(element)
        loaded: Array = array[where]
        return loaded

    def store(self, element: Element, value: Array) -> None:
        array, parts = self.at(element)
        if self.mask is None:
            # If several invocations store to one element, one of them wins, as in GLSL.
            *where, values = np.broadcast_arrays(*parts, value)
        else:
            active = np.broadcast_to(self.mask, self.shape)
            *where, values = (np.broadcast_to(part, self.shape)[active] for part in (*parts, value))
        array[tuple(where)] = values

    def at(self, element: Element) -> tuple[Array, tuple[Array, ...]]:
        """The array of an element, and the indices that the invocations access there.

        Inactive invocations have the index of the first element.
        """
        flat = self.flat_index(element)
        self.check(element, flat)
        index = flat if self.mask is None else np.where(self.mask, flat, 0)
        if not element.array.is_shared:
            return self.buffers[element.array.name], (index,)
        shared = self.shared[element.array.name].reshape(*self.groups, -1)
        return shared, (*self.ranges[:2], index)

    def flat_index(self, element: Element) -> Array:
        """The index into the flattened array, unchecked; arbitrary for inactive invocations."""
        first, *rest = (self.value(index).astype(np.int64) for index in element.operands)
        flat: Array = first
        for index, extent in zip(rest, element.array.extents[1:], strict=True):
            flat = flat * extent + index
        return flat

    def check(self, element: Element, index: Array) -> None:
        """Raise PlanError if an active invocation accesses an element outside of the array."""
        length = self.length(element)
        outside = (index < 0) | (index >= length)
        if self.mask is not None:
            outside = outside & self.mask
        if outside.any():
            first = int(np.broadcast_to(index, outside.shape).flat[int(outside.argmax())])
            raise outside_error(self.kernel, element, first, length)

    def length(self, element: Element) -> int:
        """The number of elements of the element's array."""
        array = element.array
        return prod(array.extents) if array.is_shared else self.buffers[array.name].size

    # Expressions ----------------------------------------------------------------------------

    def value(self, expression: Expression) -> Array:  # noqa: PLR0911 - a case each
        match expression:
            case Constant(values=(value,), type=type_):
                return _scalar(value, type_)
            case Read(variable=variable, components=components):
                own = variable.role is not Role.UNIFORM
                held = (self.variables if own else self.uniforms)[variable.name]
                whole = len(components) == variable.type.width
                return held if whole else _components(held)[components[0]]
            case Invocation():
                return self.identity(expression)
            case Element():
                return self.load(expression)
            case Swizzle(operands=(vector,), components=(index,)):
                return _components(self.value(vector))[index]
            case Compose(operands=parts):
                return _vector([self.value(part) for part in parts])
            case Choice(operands=(condition, chosen, other)):
                return self.choice(self.value(condition), chosen, other)
            case Operation(operands=operands, operator=operator, type=type_):
                values = [self.value(operand) for operand in operands]
                if operator is Operator.CONVERT:
                    return _converted(values[0], type_)
                if operands[0].type.is_floating:
                    self.arithmetic(operands[0].type)
                return _FUNCTIONS[operator](*values)
        raise AssertionError(expression)

    def arithmetic(self, type_: Type) -> None:
        """An operation on floats, doubles or a vec4 happens: a hook for machines that count."""

    def choice(self, condition: Array, chosen: Expression, other: Expression) -> Array:
        """The value of a choice. Each side is evaluated only for invocations that choose it."""
        outer = self.mask
        here, there = narrowed(outer, condition), narrowed(outer, ~condition)
        if here is outer or not _is_any(there):
            return self.value(chosen)
        if there is outer or not _is_any(here):
            return self.value(other)
        self.mask = here
        left = self.value(chosen)
        self.mask = there
        right = self.value(other)
        self.mask = outer
        return np.where(condition, left, right)

    def identity(self, expression: Invocation) -> Array:
        axis = expression.axis
        if axis == 2:
            return _scalar(0, UINT)
        group, local = self.ranges[1 - axis] + self.grid.first[axis], self.ranges[3 - axis]
        numbers: Array = {
            BuiltIn.WORK_GROUP_ID: group,
            BuiltIn.LOCAL_INVOCATION_ID: local,
            BuiltIn.GLOBAL_INVOCATION_ID: group * self.kernel.local_size[axis] + local,
        }[expression.built_in]
        return numbers.astype(np.uint32)


def _divide(left: Array, right: Array) -> Array:
    """GLSL's division. Integers round towards 0; a division by 0, which is undefined, gives 0."""
    if left.dtype.kind == "f":
        return left / right
    quotient = np.trunc(left / np.where(right == 0, 1, right))  # float64 holds it exactly
    return np.where(right == 0, 0, quotient).astype(np.int64).astype(left.dtype)


_FUNCTIONS: dict[Operator, Callable[..., Array]] = {
    **{o: getattr(np, o.value) for o in Operator if hasattr(np, o.value)},
    Operator.DIVIDE: _divide,
    Operator.REMAINDER: lambda a, b: a - _divide(a, b) * b,
}
"""The operations of kernels."""


def _converted(value: Array, type_: Type) -> Array:
    """A conversion. A float outside an integer's range becomes its nearest value, NaN becomes 0."""
    dtype = _DTYPES[type_.kind]
    if not type_.is_integer or value.dtype.kind != "f":
        return value.astype(dtype)
    nearest = np.clip(value.astype(np.float64), *RANGES[type_.kind])
    return np.where(np.isnan(nearest), 0, nearest).astype(np.int64).astype(dtype)


def _scalar(value: Any, type_: Type) -> Array:
    return np.full((1, 1, 1, 1), value, _DTYPES[type_.kind])


def _components(vector: Array) -> list[Array]:
    """The four components of a vec4. The 0 that variables begin with is a single number."""
    return [*vector] if vector.ndim > 4 else [vector] * 4


def _vector(parts: Sequence[Array]) -> Array:
    return np.stack(np.broadcast_arrays(*parts))


def narrowed(mask: Mask, condition: Array) -> Mask:
    """The invocations of a mask where a condition holds; the mask itself if it holds for all."""
    if mask is None:
        return None if condition.all() else condition
    both = mask & condition
    return mask if bool((both == mask).all()) else both


def _is_any(mask: Mask) -> bool:
    return mask is None or bool(mask.any())


# Without data ----------------------------------------------------------------------------------

NO_DATA: Array = np.zeros((1, 1, 1, 1), np.float32)
"""The result of every load."""

MOST_STEPS = 2**22
"""The most statements that are followed one by one for a batch of work groups, which takes a minute
or two. A statement that only some invocations execute counts more, by the size of the mask.
"""

_STEP_INVOCATIONS = 1 << 12


class DatalessMachine(KernelMachine):
    """Follows control flow. Loads and stores are reported, and touch no memory.

    Raises PlanError for more than MOST_STEPS statements.
    """

    steps = 0

    def statements(self, statements: tuple[Statement, ...]) -> None:
        size = 0 if self.mask is None else self.mask.size
        self.steps += len(statements) * (1 + size // _STEP_INVOCATIONS)
        if self.steps > MOST_STEPS:
            raise PlanError(
                f"{self.kernel.name}: more than {MOST_STEPS} steps of its loops would have to be "
                "followed one by one; choose a smaller size"
            )
        super().statements(statements)

    def access(self, element: Element, *, store: bool) -> None:
        """The active invocations load or store an element: a hook."""
        raise NotImplementedError

    def load(self, element: Element) -> Array:
        self.access(element, store=False)
        return NO_DATA

    def store(self, element: Element, value: Array) -> None:
        self.access(element, store=True)


# Addresses --------------------------------------------------------------------------------------


class AddressMachine(DatalessMachine):
    """Follows some work groups of a dispatch; `flat_index` gives the addresses of an access."""

    def __init__(self, pass_: ComputePass, grid: WorkGroups, lengths: Mapping[str, int]) -> None:
        """lengths: the number of elements of each buffer, by its name in the kernel."""
        buffers = {name: np.broadcast_to(NO_DATA.flat[0], n) for name, n in lengths.items()}
        super().__init__(pass_, grid, buffers)


# Counts ----------------------------------------------------------------------------------------


class CountingMachine(DatalessMachine):
    """Runs all work groups at once. weight: how often each operation, access and barrier happens.

    If the iterations of a loop differ only in data and addresses, its body runs once, with a larger
    weight. If such a loop counts up or down to a limit, alike in all invocations, its trips are
    computed from its first and last number. If not, its condition and its step run in every
    iteration.
    """

    weight = 1

    def __init__(self, pass_: ComputePass) -> None:
        """pass_: a dispatch with constant numbers, of a kernel without data dependence."""
        super().__init__(pass_, WorkGroups((0, 0), constant_groups(pass_.groups)), {})
        self.uniform_loops = uniform_loops(pass_.kernel)

    def loop(self, statement: Loop) -> None:
        """Run a uniform loop: first all its conditions and steps, then its body once per mask."""
        if id(statement) not in self.uniform_loops:
            super().loop(statement)
            return
        self.statements(statement.start)
        outer = self.mask
        trips = self.counted(statement)
        if trips is not None:
            iterations = [(outer, trips)] if trips else []
        else:
            alike = (list(same) for _, same in groupby(self.trips(statement), id))
            iterations = [(masks[0], len(masks)) for masks in alike]
        for self.mask, times in iterations:
            self.weight *= times
            self.statements(statement.body)
            self.weight //= times
        self.mask = outer

    def counted(self, loop: Loop) -> int | None:
        """The number of trips, or None if they must be followed one by one.

        If it is known, the loop's variable is set to its value after them.
        """
        match loop.condition, loop.step:
            case (
                Operation(operands=(Read() as counter, limit), operator=operator),
                (Assign(value=Operation(operands=(step, by), operator=sign)) as assign,),
            ) if (
                counter == step
                and counter.variable == assign.variable
                and (operator in _BEYOND and sign in (Operator.ADD, Operator.SUBTRACT))
            ):
                name = counter.variable.name
            case _:
                return None
        if any(
            not part.type.is_integer or isinstance(part, Element) or part == counter
            for value in (limit, by)
            for part in walk(value)
        ):
            return None
        before = self.variables[name]
        numbers = [before, self.value(limit), self.value(by)]
        if any(number.size > 1 for number in numbers):
            return None
        start, end, move = (int(number.item()) for number in numbers)
        move = -move if sign is Operator.SUBTRACT else move
        rises = operator in (Operator.LESS, Operator.LESS_EQUAL)
        if move == 0 or (move > 0) != rises:
            return None
        trips = len(range(start, end + _BEYOND[operator], move))
        low, high = RANGES[counter.type.kind]
        if not low <= start + trips * move <= high:
            return None
        after = np.full_like(before, start + trips * move)
        self.variables[name] = self.merged(after, before)
        return trips


_BEYOND = {
    Operator.LESS: 0,
    Operator.GREATER: 0,
    Operator.LESS_EQUAL: 1,
    Operator.GREATER_EQUAL: -1,
}
"""By comparison, what is added to a limit to make it the end of a range."""
