"""Compute kernels as Python text, which numba compiles (lower/jit.py).

One function runs work groups one after another, each in the loops of kernels/schedule.py. A
generator yields a kernel's loads and stores, and computes none of its data.

Results are the reference machine's, bit for bit, except for the sign and payload of NaN. An access
outside its array also stops a run: the code checks the accesses that kernels/bounds.py has not
proven, and raises IndexError.
"""

from __future__ import annotations

from math import inf, prod

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.ir.dependence import check_data_independent, control_variables
from gpgpu_legacy.ir.expressions import (
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
    Variable,
    walk,
)
from gpgpu_legacy.ir.kernel import RANGES, Kernel, assigned, numbered, with_inside
from gpgpu_legacy.ir.statements import (
    Assign,
    Declare,
    Statement,
    Store,
    statements_below,
)
from gpgpu_legacy.ir.types import BOOL, DTYPES, INT, VEC4, Components, Kind, Operator, Type
from gpgpu_legacy.lower.emit.numba_intrinsics import INTRINSICS
from gpgpu_legacy.lower.emit.text import INFIX
from gpgpu_legacy.lower.kernels.schedule import (
    GROUP,
    INVOCATION,
    ROW,
    Branch,
    InvocationLoop,
    Schedule,
    Scheduled,
    While,
    kept_in_arrays,
    schedule_kernel,
)

MOST_STACK = 2**21
"""Bytes of the shared arrays of a work group, and of the variables that all of its invocations
keep. They are on the stack of a thread, which may have 8 MiB."""

_PARTS = ("x", "y", "z", "w")
ENTRY = "work_groups"
"""The name of the module's function."""

_COLUMNS = "tx in range(columns)"
_CALLS = {Operator.DIVIDE: "quotient", Operator.REMAINDER: "remainder"}
_SIGNS = {operator: sign for operator, (sign, _) in INFIX.items()} | {
    Operator.EQUAL: "==",
    Operator.NOT_EQUAL: "!=",
}


class Emitter:
    """Emits a kernel as Python text.

    Names get a letter in front, since a GLSL name may be a Python keyword. Integers are kept as
    int32 and uint32; numba computes with 64 bits, and the cast afterwards drops the overflow. A
    part is 0 to 3 in a vec4, 0 elsewhere.
    """

    def __init__(self, kernel: Kernel, schedule: Schedule) -> None:
        """Without a line yet."""
        self.kernel, self.analysis, self.nest = kernel, schedule.analysis, schedule.nest
        self.arrays = kept_in_arrays(schedule.nest, schedule.analysis)
        self.types = {name: v.type for name, v in _variables(schedule.body).items()}
        self.lines: list[str] = []

    def text(self) -> str:
        """The whole module."""
        buffers = [f"b_{buffer.name}" for buffer in self.kernel.buffers]
        uniforms = [f"u_{uniform.name}" for uniform in self.kernel.uniforms]
        arguments = [*buffers, *uniforms, "failed", "columns", "across", "first", "last"]
        self.add(0, f"def {ENTRY}({', '.join(arguments)}):")
        arrays = [(f"s_{a.name}", a.element.kind, prod(a.extents)) for a in self.kernel.shared]
        for name, levels in self.arrays.items():
            type_, length = self.types[name], prod(self.size(level) for level in levels)
            arrays += [(self.name(name, part), type_.kind, length) for part in range(type_.width)]
        size = sum(length * (8 if kind is Kind.DOUBLE else 4) for _, kind, length in arrays)
        if size > MOST_STACK:
            raise PlanError(
                f"{self.kernel.name}: a work group needs {size} bytes for its shared arrays and "
                f"variables; native code has {MOST_STACK}: make the work groups smaller"
            )
        for name, kind, length in arrays:
            self.add(1, f"{name} = carray(stack(np.{DTYPES[kind]}, {length}), {length})")
        self.add(1, "for group in range(first, last):")
        self.add(2, "gx, gy = group % across, group // across")
        for array in self.kernel.shared:
            self.add(2, f"s_{array.name}[:] = 0")
        self.emit(self.nest, 2, GROUP)
        return INTRINSICS + "\n".join(self.lines) + "\n"

    def add(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def size(self, level: int) -> int:
        across, up = self.kernel.local_size
        return up if level == ROW else across

    # Statements -----------------------------------------------------------------------------

    def emit(self, statements: tuple[Scheduled, ...], depth: int, level: int) -> None:
        """Emit statements, inside of the loops up to `level`."""
        for statement in statements:
            match statement:
                case Declare(variable=variable, value=value):
                    initial = Constant((0,), variable.type) if value is None else value
                    every = tuple(range(variable.type.width))
                    self.assign(variable, every, initial, depth, level)
                case Assign(variable=variable, components=components, value=value):
                    self.assign(variable, components, value, depth, level)
                case Store():
                    self.store(statement, depth, level)
                case InvocationLoop(level=inner, body=body):
                    # A constant number of columns LLVM would unroll, and then not vectorise.
                    head = f"ty in range({self.size(ROW)})" if inner == ROW else _COLUMNS
                    self.add(depth, f"for {head}:")
                    self.emit(body, depth + 1, inner)
                case While(condition=condition, body=body):
                    self.add(depth, f"while {self.value(condition, level)}:")
                    self.emit(body, depth + 1, level)
                    self.end_block(body, depth + 1)
                case Branch(condition=condition, then=then, otherwise=otherwise):
                    self.add(depth, f"if {self.value(condition, level)}:")
                    self.emit(then, depth + 1, level)
                    self.end_block(then, depth + 1)
                    if otherwise:
                        self.add(depth, "else:")
                        self.emit(otherwise, depth + 1, level)
                        self.end_block(otherwise, depth + 1)

    def end_block(self, body: tuple[Scheduled, ...], depth: int) -> None:
        if not body:
            self.add(depth, "pass")

    def assign(
        self, variable: Variable, components: Components, value: Expression, depth: int, level: int
    ) -> None:
        # A variable with a slope keeps its base, which is its value at tx = 0.
        whole = len(components) == variable.type.width
        below = min(level, self.analysis.variables[variable.name].level) if whole else level
        kept = [self.variable(variable.name, part) for part in components]
        values = [self.value(value, below, part) for part in range(len(components))]
        self.add(depth, f"{', '.join(kept)} = {', '.join(values)}")

    def store(self, statement: Store, depth: int, level: int) -> None:
        value = self.value(statement.value, level)
        self.add(depth, f"{self.element(statement.element, level)} = {value}")

    # Storage --------------------------------------------------------------------------------

    def name(self, name: str, part: int) -> str:
        return f"v_{name}_{_PARTS[part]}" if self.types[name].width > 1 else f"v_{name}"

    def variable(self, name: str, part: int) -> str:
        """The storage of a variable, inside the loops open there."""
        plain = self.name(name, part)
        index = {
            (): "",
            (ROW,): "[ty]",
            (INVOCATION,): "[tx]",
            (ROW, INVOCATION): f"[ty * {self.size(INVOCATION)} + tx]",
        }
        return plain + index[self.arrays.get(name, ())]

    def element(self, element: Element, level: int) -> str:
        array, flat = element.array, self.flat(element, level)
        name = f"{'s' if array.is_shared else 'b'}_{array.name}"
        if element.is_inside:
            return f"{name}[np.uint64({flat})]"
        length = prod(array.extents) if array.is_shared else f"{name}.size"
        return f"{name}[inside({flat}, {length}, {element.number}, failed)]"

    def flat(self, element: Element, level: int) -> str:
        """The index in the flattened array, as int64."""
        read = self.index if element.is_inside else self.any_index
        flat = read(element.operands[0], level)
        for index, extent in zip(element.operands[1:], element.array.extents[1:], strict=True):
            flat = f"({flat}) * {extent} + {read(index, level)}"
        return flat

    def any_index(self, index: Expression, level: int) -> str:
        """An index as int64, of any integer type."""
        return f"np.int64({self.value(index, level)})"

    def index(self, index: Expression, level: int) -> str:
        """An index that is inside as int64: the base as an int32, so that base + slope·tx is exact.

        The sum is right modulo 2³², at most 2³² from 0, and an array has fewer than 2³¹ elements
        (integers.MOST_ELEMENTS). So it is the index, without another cast that would hide
        sequential access from LLVM.
        """
        slope = self.analysis.of(index).slope if level == INVOCATION else 0
        base = self.value(index, ROW if slope else level)
        signed = base if index.type == INT else f"np.int32({base})"
        return f"np.int64({signed}){_along_row(slope)}"

    # Expressions ----------------------------------------------------------------------------

    def value(  # noqa: PLR0911 - a case each
        self, expression: Expression, level: int, part: int = 0
    ) -> str:
        """A part of an expression's value, inside of the loops up to `level`; tx is 0 outside."""
        match expression:
            case Constant(values=(number,), type=type_):
                text = "np.inf" if number == inf else repr(number)
                return f"np.{DTYPES[type_.kind]}({text})"
            case Read(variable=variable, components=components):
                if variable.role is Role.UNIFORM:
                    return f"u_{variable.name}"
                return self.read(variable, level, components[part])
            case Invocation():
                return self.identity(expression, level)
            case Element():
                return self.element(expression, level)
            case Swizzle(operands=(vector,), components=(index,)):
                return self.value(vector, level, index)
            case Compose(operands=parts):
                return self.value(parts[part], level)
            case Choice(operands=(one, two, Constant(values=(False,)))) if expression.type == BOOL:
                return f"({self.value(one, level)} and {self.value(two, level)})"
            case Choice(operands=(one, Constant(values=(True,)), two)) if expression.type == BOOL:
                return f"({self.value(one, level)} or {self.value(two, level)})"
            case Choice(operands=(condition, chosen, other)):
                left, right = self.value(chosen, level, part), self.value(other, level, part)
                return f"({left} if {self.value(condition, level)} else {right})"
            case Operation(operator=Operator.CONVERT, operands=(operand,), type=type_):
                return self.convert(type_, operand.type, self.value(operand, level))
            case Operation(operands=operands):
                return self.operate(expression, [self.value(o, level, part) for o in operands])
        raise AssertionError(expression)

    def read(self, variable: Variable, level: int, part: int) -> str:
        kept = self.variable(variable.name, part)
        slope = self.analysis.variables[variable.name].slope
        if not slope or level != INVOCATION:
            return kept
        return f"np.{DTYPES[variable.type.kind]}(np.int64({kept}){_along_row(slope)})"

    def operate(self, operation: Operation, operands: list[str]) -> str:
        operator, type_ = operation.operator, operation.type
        dtype = DTYPES[type_.kind]
        if len(operands) == 1:
            word = "not " if operator is Operator.NOT else "-"
            return f"np.{dtype}({word}{operands[0]})"
        left, right = operands
        if not type_.is_integer:
            return f"({left} {_SIGNS[operator]} {right})"
        if operator in _CALLS:
            return f"np.{dtype}({_CALLS[operator]}({left}, {right}))"
        return f"np.{dtype}({left} {_SIGNS[operator]} {right})"

    def convert(self, type_: Type, source: Type, value: str) -> str:
        dtype = DTYPES[type_.kind]
        if type_ == BOOL:
            return f"({value} != 0)"
        if source == BOOL:
            return f"(np.{dtype}(1) if {value} else np.{dtype}(0))"
        if type_.is_integer and not source.is_integer:
            low, high = map(float, RANGES[type_.kind])
            return f"np.{dtype}(nearest({value}, {low}, {high}))"
        return f"np.{dtype}({value})"

    def identity(self, expression: Invocation, level: int) -> str:
        """A component of a built-in vector, as uint32."""
        axis = expression.axis
        if axis == 2:
            return "np.uint32(0)"
        size = self.kernel.local_size[axis]
        group = f"g{'xy'[axis]}"
        is_open = level >= (INVOCATION, ROW)[axis]
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


def _variables(body: tuple[Statement, ...]) -> dict[str, Variable]:
    """The private variables of statements, by name."""
    variables = map(assigned, statements_below(body))
    return {variable.name: variable for variable in variables if variable is not None}


def python_text(kernel: Kernel, unproven: frozenset[int] | None = None) -> str:
    """The Python module of a kernel, whose function `work_groups` numba compiles.

    unproven: the accesses that it checks; by default all. Its arguments: the buffers and
    uniforms in the kernel's order; two int64 for the number of an access that was outside, and its
    index; invocations of a work group along x, work groups along x, the first work group (counted
    row after row) and the one after the last.
    Raises PlanError if not all invocations of a work group reach a barrier alike, or for a vec4 as
    a uniform or in shared memory.
    """
    types = [u.type for u in kernel.uniforms] + [array.element for array in kernel.shared]
    if VEC4 in types:
        raise PlanError(f"{kernel.name}: vec4 is a type of private variables only")
    kernel = _marked(kernel, unproven)
    return Emitter(kernel, schedule_kernel(kernel)).text()


def _marked(kernel: Kernel, unproven: frozenset[int] | None) -> Kernel:
    """The kernel with its accesses numbered, and with the proofs about them."""
    kernel = numbered(kernel)
    return kernel if unproven is None else with_inside(kernel, unproven)


ADDRESSES = "addresses"
"""The name of the module's generator."""


class _AddressEmitter(Emitter):
    """Emits the control flow of a kernel of one invocation a work group, and none of its data.

    It keeps the variables that conditions and indices depend on; each load and store becomes a line
    and a kind in two arrays, which are yielded whenever they are full.
    """

    def __init__(self, kernel: Kernel, schedule: Schedule, kept: frozenset[str]) -> None:
        super().__init__(kernel, schedule)
        self.kept = kept

    def text(self) -> str:
        """The whole module."""
        uniforms = [f"u_{uniform.name}" for uniform in self.kernel.uniforms]
        arguments = ["lines", "kinds", "shift", "places", *uniforms, "failed"]
        arguments += ["across", "first", "last"]
        self.add(0, f"def {ADDRESSES}({', '.join(arguments)}):")
        kernel = self.kernel
        names = [b.name for b in kernel.buffers] + [array.name for array in kernel.shared]
        for number, name in enumerate(names):
            for column, letter in enumerate("pwkn"):
                self.add(1, f"{letter}_{name} = places[{number}, {column}]")
        self.add(1, "at = 0")
        self.add(1, "for group in range(first, last):")
        self.add(2, "gx, gy = group % across, group // across")
        self.emit(self.nest, 2, GROUP)
        self.add(1, "yield at")
        return INTRINSICS + "\n".join(self.lines) + "\n"

    def assign(
        self, variable: Variable, components: Components, value: Expression, depth: int, level: int
    ) -> None:
        self.accesses(value, depth)
        if variable.name in self.kept:
            super().assign(variable, components, value, depth, level)

    def store(self, statement: Store, depth: int, level: int) -> None:
        self.accesses(statement.value, depth)
        self.access(statement.element, depth, store=True)

    def end_block(self, body: tuple[Scheduled, ...], depth: int) -> None:
        self.add(depth, "pass")  # the body may have been only data

    def accesses(self, expression: Expression, depth: int) -> None:
        """The loads that an expression makes, in the order in which it is evaluated."""
        if not any(isinstance(part, Element) for part in walk(expression)):
            return
        match expression:
            case Element():
                self.access(expression, depth, store=False)
            case Choice(operands=(condition, *sides)):
                self.accesses(condition, depth)
                for word, side in zip(("", "not "), sides, strict=True):
                    if any(isinstance(part, Element) for part in walk(side)):
                        self.add(depth, f"if {word}{self.value(condition, GROUP)}:")
                        self.accesses(side, depth + 1)
            case _:
                for operand in expression.operands:
                    self.accesses(operand, depth)

    def access(self, element: Element, depth: int, *, store: bool) -> None:
        name, flat = element.array.name, self.flat(element, GROUP)
        inside = depth
        if not element.is_inside:
            self.add(depth, f"inside({flat}, n_{name}, {element.number}, failed)")
        if element.array.is_shared:
            self.add(depth, f"if k_{name} >= 0:")
            inside += 1
        self.add(inside, f"lines[at] = (p_{name} + ({flat}) * w_{name}) >> shift")
        self.add(inside, f"kinds[at] = k_{name}{' + 1' * store}")
        self.add(inside, "at += 1")
        self.add(inside, "if at == lines.size:")
        self.add(inside + 1, "yield at")
        self.add(inside + 1, "at = 0")


def address_text(kernel: Kernel, unproven: frozenset[int] | None = None) -> str:
    """The Python module whose generator `addresses` yields the addresses of loads and stores.

    For kernels of one invocation per work group without data dependence. unproven: as for
    python_text. The generator's arguments: `lines`, int64 [accesses], and `kinds`, of any integer
    type, which it fills; by how many bits an address is shifted right to be a line; `places`, int64
    [arrays, 4], of the buffers and then the shared arrays in the kernel's order: address, bytes of
    an element, kind of a load (a store's is one more; less than 0 for shared arrays that make no
    accesses), elements; uniforms; as for python_text, two int64 for an access that was outside;
    work groups along x, the first work group and the one after the last. It yields the number of
    accesses in `lines` and `kinds`: full arrays, and at last the rest. Raises PlanError for other
    kernels.
    """
    if kernel.threads != 1:
        raise PlanError(f"{kernel.name} has {kernel.threads} invocations per work group, not one")
    check_data_independent(kernel)
    kernel = _marked(kernel, unproven)
    schedule = schedule_kernel(kernel)
    return _AddressEmitter(kernel, schedule, control_variables(schedule.body)).text()
