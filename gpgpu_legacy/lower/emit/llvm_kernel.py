"""Compute kernels as LLVM IR: work groups one after another, in the loops of kernels/schedule.py.

A variable is a slot on the stack, which LLVM makes a register. The loop over the invocations of a
row is marked as free of dependences: between barriers, no invocation reads what another one writes.
So LLVM vectorises it, whatever it knows of the addresses.

Results are the reference machine's, bit for bit, except for the sign and payload of NaN. An access
outside its array also stops a run: the code checks the accesses that kernels/bounds.py has not
proven.

TraceEmitter writes the loads and stores of a kernel of one invocation a work group, whose control
flow and addresses depend on no data: their addresses, and none of the data. Its function pauses
whenever its arrays are full, and goes on there when it is called again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

from llvmlite import ir

from gpgpu_legacy.errors import PlanError
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
    Variable,
)
from gpgpu_legacy.isa.kernel import (
    Kernel,
    assigned,
    check_data_independent,
    control_variables,
    numbered,
    with_inside,
)
from gpgpu_legacy.isa.statements import (
    Assign,
    Declare,
    If,
    Invocations,
    Loop,
    Statement,
    Store,
    statements_below,
    walk,
)
from gpgpu_legacy.isa.types import INT, VEC4, Components, Kind
from gpgpu_legacy.lower.emit.llvm_basics import (
    ELEMENTS,
    I1,
    I8,
    I16,
    I32,
    I64,
    CountedLoop,
    Words,
    integer,
)
from gpgpu_legacy.lower.emit.llvm_values import TileShape, ValueEmitter
from gpgpu_legacy.lower.kernels.schedule import GROUP, INVOCATION, ROW, KernelLoops

MOST_STACK = 2**21
"""Bytes of the shared arrays of a work group, and of the variables that all of its invocations
keep. They are on the stack of a thread, which may have 8 MiB."""

ENTRY = "work_groups"
"""The name of the module's function."""

# Of the words that the function is handed: the work groups along x; then for each buffer its
# address and its elements; then the uniforms, as bits.
ACROSS, ARRAYS = range(2)
ADDRESS, LENGTH, ARRAY_WORDS = range(3)


class KernelEmitter:
    """Emits a kernel as a function of the words, the first work group, the one after the last, and
    its state.

    The function gives 0, or less the number of an access that is outside, whose index it stores in
    the state's first word.
    """

    arrays_at, array_words = ARRAYS, ARRAY_WORDS

    def __init__(self, kernel: Kernel, unproven: frozenset[int] | None = None) -> None:
        """unproven: the numbers of the accesses that the code checks; by default all.

        Raises PlanError if not all invocations of a work group reach a barrier alike, or for a vec4
        as a uniform or in shared memory.
        """
        types = [v.type for v in kernel.uniforms] + [array.element for array in kernel.shared]
        if VEC4 in types:
            raise PlanError(f"{kernel.name}: vec4 is a type of private variables only")
        kernel = numbered(kernel)
        if unproven is not None:
            kernel = with_inside(kernel, unproven)
        self.kernel, self.shared, self.nesting = kernel, kernel.shared, KernelLoops(kernel)
        self.kept = self.nesting.kept_in_arrays()
        variables = map(assigned, statements_below(self.nesting.body))
        self.variables = {v.name: v.type for v in variables if v is not None}
        module = ir.Module("kernel")
        kind = ir.FunctionType(I64, [I64.as_pointer(), I64, I64, I64.as_pointer()])
        self.function = ir.Function(module, kind, ENTRY)
        words, self.first, self.last, self.state_at = self.function.args
        self.builder = ir.IRBuilder(self.function.append_basic_block())
        self.emit = ValueEmitter(module, self.builder, TileShape(1, 1, 1), exact=True)
        self.words = Words(self.builder, words)
        self.across = self.words.integer(ACROSS)
        self.arrays: dict[str, tuple[Any, Any]] = {}  # the address and the length, by name
        self.uniforms: dict[str, Any] = {}
        self.slots: dict[tuple[str, int], Any] = {}  # of the components of variables
        self.local = integer(0), integer(0)
        self.loops = 0

    @property
    def state_words(self) -> int:
        """How many the function's state has."""
        return 2 + len(self.slots)

    def text(self) -> str:
        """The whole module, with the function ENTRY; to be called once."""
        b = self.builder
        self.bind()
        self.allocate()
        self.enter()
        self.repeat(lambda: b.icmp_signed("<", b.load(self.group), self.last), self.work_group)
        self.leave()
        marks = [f"!{2 + n} = distinct !{{!{2 + n}, !1, {_ROLLED}}}" for n in range(self.loops)]
        return "\n".join([str(self.emit.module), _ACCESSES, _PARALLEL, *marks])

    def enter(self) -> None:
        """Begin with the first work group."""
        self.builder.store(self.first, self.group)

    def leave(self) -> None:
        """The work groups have ended."""
        self.builder.ret(integer(0))

    # Arguments and memory -------------------------------------------------------------------

    def bind(self) -> None:
        """Read the arguments from the words."""
        for number, buffer in enumerate(self.kernel.buffers):
            at = self.arrays_at + number * self.array_words
            place = self.words.address(at + ADDRESS, ELEMENTS[Kind.FLOAT])
            self.arrays[buffer.name] = place, self.words.integer(at + LENGTH)
        self.bind_uniforms(len(self.kernel.buffers))

    def bind_uniforms(self, arrays: int) -> None:
        """arrays: that stand before them."""
        b = self.builder
        for number, uniform in enumerate(self.kernel.uniforms):
            kind = ELEMENTS[uniform.type.kind]
            bits = self.words.integer(self.arrays_at + arrays * self.array_words + number)
            if uniform.type.kind is not Kind.DOUBLE:
                bits = b.trunc(bits, kind if isinstance(kind, ir.IntType) else I32)
            self.uniforms[uniform.name] = b.bitcast(bits, kind)

    def allocate(self) -> None:
        """Make room for shared arrays and variables. Raises PlanError if they are too large."""
        b, size = self.builder, 0
        self.group = b.alloca(I64)
        for array in self.shared:
            length = prod(array.extents)
            place = b.alloca(ELEMENTS[array.element.kind], length)
            self.arrays[array.name] = place, integer(length)
            size += length * array.element.size_bytes
        for name, type_ in self.variables.items():
            length = prod(self.kernel.local_size[level == ROW] for level in self.kept.get(name, ()))
            for part in range(type_.width):
                self.slots[name, part] = b.alloca(ELEMENTS[type_.kind], length)
            size += length * type_.size_bytes if name in self.kept else 0
        if size > MOST_STACK:
            raise PlanError(
                f"{self.kernel.name}: a work group needs {size} bytes for its shared arrays and "
                f"variables; native code has {MOST_STACK}: make the work groups smaller"
            )

    def slot(self, name: str, part: int) -> Any:
        """The place of a component of a variable, inside the loops open there."""
        b, slot, levels = self.builder, self.slots[name, part], self.kept.get(name, ())
        index = integer(0)
        if ROW in levels:
            index = self.local[1]
        if INVOCATION in levels:
            index = b.add(b.mul(index, integer(self.kernel.local_size[0])), self.local[0])
        return b.gep(slot, [index]) if levels else slot

    def load(self, place: Any) -> Any:
        return self.marked(self.builder.load(place))

    def store(self, value: Any, place: Any) -> None:
        self.marked(self.builder.store(value, place))

    def marked(self, access: Any) -> Any:
        """An access as one that depends on none of another invocation."""
        access.set_metadata("llvm.access.group", _Mark(0))
        return access

    # Statements -----------------------------------------------------------------------------

    def repeat(self, condition: Callable[[], Any], body: Callable[[], object]) -> None:
        """`while condition: body`."""
        b = self.builder
        head, inside, after = (b.append_basic_block() for _ in range(3))
        b.branch(head)
        b.position_at_end(head)
        b.cbranch(condition(), inside, after)
        b.position_at_end(inside)
        body()
        b.branch(head)
        b.position_at_end(after)

    def work_group(self) -> None:
        b = self.builder
        clear = self.emit.module.declare_intrinsic("llvm.memset", [I8.as_pointer(), I64])
        for array in self.shared:
            place, length = self.arrays[array.name]
            first, end = (b.ptrtoint(at, I64) for at in (place, b.gep(place, [length])))
            b.call(clear, [b.bitcast(place, I8.as_pointer()), I8(0), b.sub(end, first), I1(0)])
        self.statements(self.nesting.nest, GROUP)
        b.store(b.add(b.load(self.group), integer(1)), self.group)

    def statements(self, statements: tuple[Statement, ...], level: int) -> None:
        """Emit statements, inside of the loops up to `level`."""
        for statement in statements:
            match statement:
                case Declare(variable=variable, value=value):
                    initial = Constant((0,), variable.type) if value is None else value
                    self.assign(variable, tuple(range(variable.type.width)), initial, level)
                case Assign(variable=variable, components=components, value=value):
                    self.assign(variable, components, value, level)
                case Store():
                    self.put(statement, level)
                case Invocations():
                    self.invocations(statement)
                case Loop(condition=condition, body=body):
                    self.repeat(
                        partial(self.value, condition, level), partial(self.statements, body, level)
                    )
                case If():
                    self.branch(statement, level)

    def invocations(self, loop: Invocations) -> None:
        b, before = self.builder, self.local
        counted = CountedLoop(b, integer(0), integer(self.kernel.local_size[loop.axis]))
        with counted as number:
            self.local = (before[0], number) if loop.axis else (number, before[1])
            self.statements(loop.body, INVOCATION - loop.axis)
        self.local = before
        if not loop.axis:
            counted.back.set_metadata("llvm.loop", _Mark(2 + self.loops))
            self.loops += 1

    def branch(self, branch: If, level: int) -> None:
        condition = self.value(branch.condition, level)
        with self.builder.if_else(condition) as (then, otherwise):
            with then:
                self.statements(branch.then, level)
            with otherwise:
                self.statements(branch.otherwise, level)

    def assign(
        self, variable: Variable, components: Components, value: Expression, level: int
    ) -> None:
        # A variable with a slope keeps its base, which is its value at tx = 0.
        whole = len(components) == variable.type.width
        below = min(level, self.nesting.variables[variable.name].level) if whole else level
        values = [self.value(value, below, part) for part in range(len(components))]
        for part, number in zip(components, values, strict=True):
            self.store(number, self.slot(variable.name, part))

    def put(self, statement: Store, level: int) -> None:
        value = self.value(statement.value, level)
        self.store(value, self.element(statement.element, level))

    # Elements -------------------------------------------------------------------------------

    def element(self, element: Element, level: int) -> Any:
        """Where an element is."""
        index = self.flat(element, level)
        self.check(element, index)
        return self.builder.gep(self.arrays[element.array.name][0], [index])

    def check(self, element: Element, index: Any) -> None:
        """Stop at an index outside the array, unless it is proven to be inside."""
        if element.is_inside:
            return
        b, (_, length) = self.builder, self.arrays[element.array.name]
        with b.if_then(b.icmp_unsigned(">=", index, length)):
            b.store(index, self.state_at)
            b.ret(integer(-element.number))

    def flat(self, element: Element, level: int) -> Any:
        """The index in the flattened array, of 64 bits."""
        b, read = self.builder, self.index if element.is_inside else self.any_index
        flat = read(element.operands[0], level)
        for index, extent in zip(element.operands[1:], element.array.extents[1:], strict=True):
            flat = b.add(b.mul(flat, integer(extent)), read(index, level))
        return flat

    def any_index(self, index: Expression, level: int) -> Any:
        """An index, of any integer type."""
        extend = self.builder.sext if index.type == INT else self.builder.zext
        return extend(self.value(index, level), I64)

    def index(self, index: Expression, level: int) -> Any:
        """An index that is inside: the base as an int, so that base + slope·tx is exact.

        The sum is right modulo 2³², at most 2³² from 0, and an array has fewer than 2³¹ elements
        (integers.MOST_ELEMENTS). So it is the index, without another cast that would hide
        sequential access from LLVM.
        """
        b = self.builder
        slope = self.nesting.of(index).slope if level == INVOCATION else 0
        base = b.sext(self.value(index, ROW if slope else level), I64)
        return b.add(base, b.mul(integer(slope), self.local[0])) if slope else base

    # Expressions ----------------------------------------------------------------------------

    def value(  # noqa: PLR0911 - a case each
        self, expression: Expression, level: int, part: int = 0
    ) -> Any:
        """A part of an expression's value, inside of the loops up to `level`; tx is 0 outside."""
        match expression:
            case Constant(values=(number,), type=type_):
                return self.emit.constant(number, type_.kind).cell(0, 0)
            case Read(variable=variable, components=components):
                if variable.role is Role.UNIFORM:
                    return self.uniforms[variable.name]
                return self.read(variable, level, components[part])
            case Invocation():
                return self.identity(expression, level)
            case Element():
                return self.load(self.element(expression, level))
            case Swizzle(operands=(vector,), components=(index,)):
                return self.value(vector, level, index)
            case Compose(operands=parts):
                return self.value(parts[part], level)
            case Choice():
                return self.choice(expression, level, part)
            case Operation(operands=operands):
                values = [self.value(operand, level, part) for operand in operands]
                return self.emit.instruction(expression)(*values)
        raise AssertionError(expression)

    def choice(self, choice: Choice, level: int, part: int) -> Any:
        """Of sides that load, only the chosen one is evaluated."""
        b, (condition, *sides) = self.builder, choice.operands
        chosen = self.value(condition, level)
        if not any(isinstance(one, Element) for side in sides for one in walk(side)):
            return b.select(chosen, *[self.value(side, level, part) for side in sides])
        ends = []
        with b.if_else(chosen) as branches:
            for side, branch in zip(sides, branches, strict=True):
                with branch:
                    ends.append((self.value(side, level, part), b.block))
        joined = b.phi(ends[0][0].type)
        for end in ends:
            joined.add_incoming(*end)
        return joined

    def read(self, variable: Variable, level: int, part: int) -> Any:
        b, kept = self.builder, self.load(self.slot(variable.name, part))
        slope = self.nesting.variables[variable.name].slope
        if not slope or level != INVOCATION:
            return kept
        return b.add(kept, b.mul(I32(slope), b.trunc(self.local[0], I32)))

    def identity(self, expression: Invocation, level: int) -> Any:
        """A component of a built-in vector."""
        b, axis = self.builder, expression.axis
        if axis == 2:
            return I32(0)
        is_open = level >= (INVOCATION, ROW)[axis]
        local = b.trunc(self.local[axis], I32) if is_open else I32(0)
        if expression.built_in is BuiltIn.LOCAL_INVOCATION_ID:
            return local
        group = (b.sdiv if axis else b.srem)(b.load(self.group), self.across)
        group = b.trunc(group, I32)
        if expression.built_in is BuiltIn.WORK_GROUP_ID:
            return group
        return b.add(b.mul(group, I32(self.kernel.local_size[axis])), local)


class _Mark:
    """Metadata of that number."""

    def __init__(self, number: int) -> None:
        self._number = number

    def get_reference(self) -> str:
        """As LLVM's instructions have it."""
        return f"!{self._number}"


# The loops stay rolled: of a short one that is not, nothing is left to vectorise.
_ACCESSES, _PARALLEL = "!0 = distinct !{}", '!1 = !{!"llvm.loop.parallel_accesses", !0}'
_ROLLED = '!{!"llvm.loop.unroll.disable"}'


# Traces -------------------------------------------------------------------------------------

# Of the words that the function is handed, after the work groups along x: addresses of the arrays
# that it fills, int64 lines and int16 kinds; how many accesses there is room for; by how many bits
# an address is shifted right to be a line. Then for each buffer and each shared array where it
# lies: its address, bytes of an element, the kind of a load (a store's is one more), elements.
LINES, KINDS, ROOM, SHIFT, PLACES = range(1, 6)
PLACE_WORDS = 4


class TraceEmitter(KernelEmitter):
    """Emits the control flow of a kernel, and a line and a kind for each load and store.

    The function gives the number of accesses in the arrays, or less than 0 for an access that is
    outside, as a KernelEmitter's does. Of the state, which is zeros before the first call, the
    first word is 0 again when the work groups have ended.
    """

    arrays_at, array_words = PLACES, PLACE_WORDS

    def __init__(self, kernel: Kernel, unproven: frozenset[int] | None = None) -> None:
        """Raises PlanError as above, and for several invocations or data dependence."""
        if kernel.threads != 1:
            raise PlanError(
                f"{kernel.name} has {kernel.threads} invocations per work group, not one"
            )
        check_data_independent(kernel)
        super().__init__(kernel, unproven)
        self.shared = ()
        names = control_variables(self.nesting.body)
        self.variables = {n: type_ for n, type_ in self.variables.items() if n in names}
        self.places: dict[str, tuple[Any, ...]] = {}

    def bind(self) -> None:
        """Read the arguments from the words."""
        names = [b.name for b in self.kernel.buffers] + [a.name for a in self.kernel.shared]
        for number, name in enumerate(names):
            first = PLACES + number * PLACE_WORDS
            place = tuple(self.words.integer(first + word) for word in range(PLACE_WORDS))
            self.places[name], self.arrays[name] = place, (None, place[-1])
        self.bind_uniforms(len(names))
        self.lines = self.words.address(LINES)
        self.kinds = self.words.address(KINDS, I16)
        self.room, self.shift = self.words.integer(ROOM), self.words.integer(SHIFT)

    def enter(self) -> None:
        """Go on where the function paused, with the state that it left."""
        b, self.state = self.builder, Words(self.builder, self.state_at)
        self.at, self.point = b.alloca(I64), b.alloca(I64)
        b.store(integer(0), self.at)
        self.saved = [self.group, *self.slots.values()]
        for word, slot in enumerate(self.saved, 1):
            b.store(b.load(self._saved(word, slot)), slot)
        begin, self.exit = b.append_basic_block(), b.append_basic_block()
        self.resume = b.switch(self.state.integer(0), begin)
        b.position_at_end(begin)
        super().enter()

    def _saved(self, word: int, slot: Any) -> Any:
        return self.builder.bitcast(self.state.place(word), slot.type)

    def leave(self) -> None:
        """Leave the state for the next call."""
        b = self.builder
        self.pause(0)
        b.position_at_end(self.exit)
        b.store(b.load(self.point), self.state.place(0))
        for word, slot in enumerate(self.saved, 1):
            b.store(b.load(slot), self._saved(word, slot))
        b.ret(b.load(self.at))

    def pause(self, point: int) -> None:
        """Return. point: where to go on; 0 at the end."""
        self.builder.store(integer(point), self.point)
        self.builder.branch(self.exit)

    # Statements -----------------------------------------------------------------------------

    def assign(
        self, variable: Variable, components: Components, value: Expression, level: int
    ) -> None:
        self.accesses(value)
        if variable.name in self.variables:
            super().assign(variable, components, value, level)

    def put(self, statement: Store, level: int) -> None:
        self.accesses(statement.value)
        self.access(statement.element, stores=1)

    def accesses(self, expression: Expression) -> None:
        """The loads that an expression makes, in the order in which it is evaluated."""
        if not _loads(expression):
            return
        match expression:
            case Element():
                self.access(expression, stores=0)
            case Choice(operands=(condition, chosen, other)):
                self.accesses(condition)
                with self.builder.if_else(self.value(condition, GROUP)) as (then, otherwise):
                    with then:
                        self.accesses(chosen)
                    with otherwise:
                        self.accesses(other)
            case _:
                for operand in expression.operands:
                    self.accesses(operand)

    def access(self, element: Element, *, stores: int) -> None:
        b, index = self.builder, self.flat(element, GROUP)
        self.check(element, index)
        base, size, kind, _ = self.places[element.array.name]
        at = b.load(self.at)
        line = b.ashr(b.add(base, b.mul(index, size)), self.shift)
        b.store(line, b.gep(self.lines, [at]))
        b.store(b.trunc(b.add(kind, integer(stores)), I16), b.gep(self.kinds, [at]))
        following = b.add(at, integer(1))
        b.store(following, self.at)
        with b.if_then(b.icmp_signed("==", following, self.room)):
            point, again = len(self.resume.cases) + 1, b.append_basic_block()
            self.pause(point)
            self.resume.add_case(integer(point), again)
            b.position_at_end(again)


def _loads(expression: Expression) -> bool:
    return any(isinstance(part, Element) for part in walk(expression))
