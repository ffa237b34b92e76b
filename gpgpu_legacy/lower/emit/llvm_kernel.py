"""Compute kernels as LLVM IR: work groups one after another, in the loops of kernels/schedule.py.

A variable is a slot on the stack, which LLVM makes a register. The loop over the invocations of a
row is marked as free of dependences: between barriers, no invocation reads what another one writes.
So LLVM vectorises it even if it knows nothing of the addresses.

Results are the reference machine's, bit for bit, except for the sign and payload of NaN. An access
outside its array also stops a run: the code checks the accesses that kernels/bounds.py has not
proven.

TraceEmitter traces a kernel with one invocation per work group, whose control flow and addresses
depend on no data. Its function records the address of each load and store, and touches no data. It
pauses whenever its arrays are full, and resumes there when it is called again.
"""

from __future__ import annotations

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
    Emitted,
    call,
    counted,
    joined,
    loop,
)
from gpgpu_legacy.lower.emit.llvm_values import TileShape, ValueEmitter
from gpgpu_legacy.lower.kernels.schedule import GROUP, INVOCATION, ROW, KernelLoops

MOST_STACK = 2**21
"""The most bytes for a work group's shared arrays, and for the variables that all its invocations
keep. They are on a thread's stack, which may have 8 MiB."""

ENTRY = "work_groups"
"""The name of the module's function."""

# The words of the function's first argument: the number of work groups along x; then each buffer's
# address and its number of elements; then the uniforms, as bits.
ACROSS, ARRAYS = range(2)
ARRAY_WORDS = 2


class KernelEmitter:
    """Emits a kernel as a function.

    Its arguments are the words, the first work group, the one after the last, and the state. It
    returns 0. After an access outside its array it returns minus the access's number, and the
    state's first word is the index.
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
        self.bound: tuple[Any, ...] = kernel.buffers
        self.kept = self.nesting.kept_in_arrays()
        variables = map(assigned, statements_below(self.nesting.body))
        self.variables = {v.name: v.type for v in variables if v is not None}
        module = ir.Module("kernel")
        kind = ir.FunctionType(I64, [I64.as_pointer(), I64, I64, I64.as_pointer()])
        function = ir.Function(module, kind, ENTRY)
        self.builder = ir.IRBuilder(function.append_basic_block())
        self.words, self.first, self.last, self.state = (
            Emitted(self.builder, argument) for argument in function.args
        )
        self.emit = ValueEmitter(self.builder, TileShape(1, 1, 1), exact=True)
        self.across = self.words[ACROSS]
        self.places: dict[str, list[Emitted]] = {}  # the words of arrays before their lengths
        self.arrays: dict[str, tuple[Emitted, Emitted]] = {}  # the address and the length, by name
        self.uniforms: dict[str, Emitted] = {}
        self.slots: dict[tuple[str, int], Emitted] = {}  # of the components of variables
        self.local = [self.number(0)] * 2
        self.loops = 0

    def number(self, number: int, kind: Any = I64) -> Emitted:
        """An integer of that type."""
        return Emitted(self.builder, kind(number))

    @property
    def state_words(self) -> int:
        """The number of words of the function's state."""
        return 2 + len(self.slots)

    def text(self) -> str:
        """The whole module, with the function ENTRY; to be called once."""
        self.bind()
        self.allocate()
        self.enter()
        with loop(self.builder) as goes_on:
            goes_on(self.group.load() < self.last)
            self.work_group()
        self.leave()
        marks = [f"!{2 + n} = distinct !{{!{2 + n}, !1, {_ROLLED}}}" for n in range(self.loops)]
        return "\n".join([str(self.builder.module), _ACCESSES, _PARALLEL, *marks])

    def enter(self) -> None:
        """Begin with the first work group."""
        self.first.store(self.group)

    def leave(self) -> None:
        """Return after the last work group."""
        self.builder.ret(I64(0))

    # Arguments and memory -------------------------------------------------------------------

    def bind(self) -> None:
        """Read the arguments from the words."""
        at = self.arrays_at
        for array in self.bound:
            *place, length = [self.words[at + word] for word in range(self.array_words)]
            self.places[array.name] = place
            self.arrays[array.name] = place[0].pointer(ELEMENTS[Kind.FLOAT]), length
            at += self.array_words
        for number, uniform in enumerate(self.kernel.uniforms):
            kind, bits = ELEMENTS[uniform.type.kind], self.words[at + number]
            if uniform.type.kind is not Kind.DOUBLE:
                bits = bits.trunc(kind if isinstance(kind, ir.IntType) else I32)
            self.uniforms[uniform.name] = bits.bitcast(kind)

    def allocate(self) -> None:
        """Make room for shared arrays and variables. Raises PlanError if they are too large."""
        size = 0
        self.group = self.slot_of(I64)
        for array in self.shared:
            length = prod(array.extents)
            place = self.slot_of(ELEMENTS[array.element.kind], length)
            self.arrays[array.name] = place, self.number(length)
            size += length * array.element.size_bytes
        for name, type_ in self.variables.items():
            length = prod(self.kernel.local_size[level == ROW] for level in self.kept.get(name, ()))
            for part in range(type_.width):
                self.slots[name, part] = self.slot_of(ELEMENTS[type_.kind], length)
            size += length * type_.size_bytes if name in self.kept else 0
        if size > MOST_STACK:
            raise PlanError(
                f"{self.kernel.name}: a work group needs {size} bytes for its shared arrays and "
                f"variables; native code has {MOST_STACK}: make the work groups smaller"
            )

    def slot_of(self, kind: Any, length: int | None = None) -> Emitted:
        """The address of new room on the stack: for one element, or for `length`."""
        return Emitted(self.builder, self.builder.alloca(kind, length))

    def slot(self, name: str, part: int) -> Emitted:
        """The address of a variable's component, inside the loops that are open."""
        slot, levels = self.slots[name, part], self.kept.get(name, ())
        index = self.local[1] if ROW in levels else self.number(0)
        if INVOCATION in levels:
            index = index * self.kernel.local_size[0] + self.local[0]
        return slot.at(index) if levels else slot

    def marked(self, access: Emitted) -> Emitted:
        """Mark a load or a store as independent of those of other invocations."""
        access.value.set_metadata("llvm.access.group", _Mark(0))
        return access

    # Statements -----------------------------------------------------------------------------

    def work_group(self) -> None:
        b = self.builder
        clear = b.module.declare_intrinsic("llvm.memset", [I8.as_pointer(), I64])
        for array in self.shared:
            place, length = self.arrays[array.name]
            first, end = (at.ptrtoint(I64) for at in (place, place.at(length)))
            call(b, clear, place.bitcast(I8.as_pointer()), I8(0), end - first, I1(0))
        self.statements(self.nesting.nest, GROUP)
        (self.group.load() + 1).store(self.group)

    def statements(self, statements: tuple[Statement, ...], level: int) -> None:
        """Emit statements, inside of the loops up to `level`."""
        b = self.builder
        for statement in statements:
            match statement:
                case Declare(variable=variable, value=value):
                    initial = Constant((0,), variable.type) if value is None else value
                    self.assign(variable, tuple(range(variable.type.width)), initial, level)
                case Assign(variable=variable, components=components, value=value):
                    self.assign(variable, components, value, level)
                case Store():
                    self.put(statement, level)
                case Invocations(axis=axis, body=body):
                    with counted(b, 0, self.kernel.local_size[axis]) as self.local[axis]:
                        self.statements(body, INVOCATION - axis)
                        last = b.block
                    self.local[axis] = self.number(0)
                    if not axis:
                        last.terminator.set_metadata("llvm.loop", _Mark(2 + self.loops))
                        self.loops += 1
                case Loop(condition=condition, body=body):
                    with loop(b) as goes_on:
                        goes_on(self.value(condition, level))
                        self.statements(body, level)
                case If(condition=condition, then=then, otherwise=otherwise):
                    chosen = self.value(condition, level)
                    with b.if_else(chosen.value) as branches:
                        for side, branch in zip((then, otherwise), branches, strict=True):
                            with branch:
                                self.statements(side, level)

    def assign(
        self, variable: Variable, components: Components, value: Expression, level: int
    ) -> None:
        # A variable with a slope keeps its base, which is its value at tx = 0.
        whole = len(components) == variable.type.width
        below = min(level, self.nesting.variables[variable.name].level) if whole else level
        values = [self.value(value, below, part) for part in range(len(components))]
        for part, number in zip(components, values, strict=True):
            self.marked(number.store(self.slot(variable.name, part)))

    def put(self, statement: Store, level: int) -> None:
        value = self.value(statement.value, level)
        self.marked(value.store(self.element(statement.element, level)))

    # Elements -------------------------------------------------------------------------------

    def element(self, element: Element, level: int) -> Emitted:
        """The address of an element."""
        return self.arrays[element.array.name][0].at(self.flat(element, level))

    def flat(self, element: Element, level: int) -> Emitted:
        """The index of an element in the flattened array, of 64 bits.

        The code checks it and stops if it is outside the array, unless it is proven to be inside.
        """
        read = self.index if element.is_inside else self.any_index
        flat = read(element.operands[0], level)
        for index, extent in zip(element.operands[1:], element.array.extents[1:], strict=True):
            flat = flat * extent + read(index, level)
        if not element.is_inside:
            length = self.arrays[element.array.name][1]
            with self.builder.if_then(flat.compare("icmp_unsigned", ">=", length).value):
                flat.store(self.state)
                self.builder.ret(I64(-element.number))
        return flat

    def any_index(self, index: Expression, level: int) -> Emitted:
        """An index, of any integer type."""
        value = self.value(index, level)
        return value.sext(I64) if index.type == INT else value.zext(I64)

    def index(self, index: Expression, level: int) -> Emitted:
        """An index that is proven to be inside, as base + slope·tx with an int as the base.

        The sum is right modulo 2³², at most 2³² from 0, and an array has fewer than 2³¹ elements
        (integers.MOST_ELEMENTS). So the sum is the index. It needs no cast, which would hide
        sequential access from LLVM.
        """
        slope = self.nesting.of(index).slope if level == INVOCATION else 0
        base = self.value(index, ROW if slope else level).sext(I64)
        return base + self.local[0] * slope if slope else base

    # Expressions ----------------------------------------------------------------------------

    def value(  # noqa: PLR0911 - a case each
        self, expression: Expression, level: int, part: int = 0
    ) -> Emitted:
        """A component of an expression, inside of the loops up to `level`; tx is 0 outside."""
        match expression:
            case Constant(values=(number,), type=type_):
                return self.emit.constant(number, type_.kind).cell(0, 0)
            case Read(variable=variable, components=components):
                if variable.role is Role.UNIFORM:
                    return self.uniforms[variable.name]
                kept = self.marked(self.slot(variable.name, components[part]).load())
                slope = self.nesting.variables[variable.name].slope if level == INVOCATION else 0
                return kept + self.local[0].trunc(I32) * slope if slope else kept
            case Invocation():
                return self.identity(expression, level)
            case Element():
                return self.marked(self.element(expression, level).load())
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

    def choice(self, choice: Choice, level: int, part: int) -> Emitted:
        """The value of a choice. If a side loads, only the chosen side is evaluated."""
        b, (condition, *sides) = self.builder, choice.operands
        chosen = self.value(condition, level)
        if not any(_loads(side) for side in sides):
            return chosen.choose(*(self.value(side, level, part) for side in sides))
        ends = []
        with b.if_else(chosen.value) as branches:
            for side, branch in zip(sides, branches, strict=True):
                with branch:
                    ends.append((self.value(side, level, part), b.block))
        return joined(*ends)

    def identity(self, expression: Invocation, level: int) -> Emitted:
        """A component of a built-in vector."""
        axis = expression.axis
        if axis == 2:
            return self.number(0, I32)
        is_open = level >= (INVOCATION, ROW)[axis]
        local = self.local[axis].trunc(I32) if is_open else self.number(0, I32)
        if expression.built_in is BuiltIn.LOCAL_INVOCATION_ID:
            return local
        number = self.group.load()
        group = (number // self.across if axis else number % self.across).trunc(I32)
        if expression.built_in is BuiltIn.WORK_GROUP_ID:
            return group
        return group * self.kernel.local_size[axis] + local


class _Mark:
    """A reference to the metadata of that number."""

    def __init__(self, number: int) -> None:
        self._number = number

    def get_reference(self) -> str:
        """The reference in LLVM's text."""
        return f"!{self._number}"


# The loops stay rolled: if LLVM unrolled a short one, nothing would be left to vectorise.
_ACCESSES, _PARALLEL = "!0 = distinct !{}", '!1 = !{!"llvm.loop.parallel_accesses", !0}'
_ROLLED = '!{!"llvm.loop.unroll.disable"}'


# Traces -------------------------------------------------------------------------------------

# The words after the number of work groups along x: the addresses of the arrays to fill, int64
# lines and int16 kinds; the number of accesses that they have room for; the number of bits by which
# an address is shifted right to give a line. Then for each buffer and each shared array: its
# address, the bytes of an element, the kind of a load (a store's is one more), the elements.
LINES, KINDS, ROOM, SHIFT, PLACES = range(1, 6)
PLACE_WORDS = 4


class TraceEmitter(KernelEmitter):
    """Emits the control flow of a kernel, which writes a line and a kind for each load and store.

    The function returns the number of accesses in the arrays, or a negative number for an access
    outside its array, as a KernelEmitter's does. The state is zeros before the first call. Its
    first word is 0 again when the work groups have ended.
    """

    arrays_at, array_words = PLACES, PLACE_WORDS

    def __init__(self, kernel: Kernel, unproven: frozenset[int] | None = None) -> None:
        """unproven: as for KernelEmitter.

        Raises PlanError as KernelEmitter does, for several invocations in a work group, and if
        control flow or addresses depend on data.
        """
        if kernel.threads != 1:
            raise PlanError(
                f"{kernel.name} has {kernel.threads} invocations per work group, not one"
            )
        check_data_independent(kernel)
        super().__init__(kernel, unproven)
        self.bound, self.shared = (*kernel.buffers, *kernel.shared), ()
        names = control_variables(self.nesting.body)
        self.variables = {n: type_ for n, type_ in self.variables.items() if n in names}

    def enter(self) -> None:
        """Resume where the function paused, with the state that it left."""
        b, words = self.builder, self.words
        self.lines, self.kinds = words[LINES].pointer(), words[KINDS].pointer(I16)
        self.room, self.shift = words[ROOM], words[SHIFT]
        self.at, self.point = self.slot_of(I64), self.slot_of(I64)
        self.number(0).store(self.at)
        saved = enumerate([self.group, *self.slots.values()], 1)
        self.saved = [(slot, self.state.at(word).bitcast(slot.type)) for word, slot in saved]
        for slot, kept in self.saved:
            kept.load().store(slot)
        begin, self.exit = b.append_basic_block(), b.append_basic_block()
        self.resume = b.switch(self.state[0].value, begin)
        b.position_at_end(begin)
        super().enter()

    def leave(self) -> None:
        """Save the state for the next call, and return."""
        b = self.builder
        self.pause(0)
        b.position_at_end(self.exit)
        self.point.load().store(self.state)
        for slot, kept in self.saved:
            slot.load().store(kept)
        b.ret(self.at.load().value)

    def pause(self, point: int) -> None:
        """Return. point: where the next call resumes; 0 at the end."""
        self.number(point).store(self.point)
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
        """Record the loads of an expression, in the order of its evaluation."""
        if not _loads(expression):
            return
        match expression:
            case Element():
                self.access(expression, stores=0)
            case Choice(operands=(condition, *sides)):
                self.accesses(condition)
                with self.builder.if_else(self.value(condition, GROUP).value) as branches:
                    for side, branch in zip(sides, branches, strict=True):
                        with branch:
                            self.accesses(side)
            case _:
                for operand in expression.operands:
                    self.accesses(operand)

    def access(self, element: Element, *, stores: int) -> None:
        b, index = self.builder, self.flat(element, GROUP)
        base, size, kind = self.places[element.array.name]
        at = self.at.load()
        ((base + index * size) >> self.shift).store(self.lines.at(at))
        (kind + stores).trunc(I16).store(self.kinds.at(at))
        following = at + 1
        following.store(self.at)
        with b.if_then((following == self.room).value):
            point, again = len(self.resume.cases) + 1, b.append_basic_block()
            self.pause(point)
            self.resume.add_case(I64(point), again)
            b.position_at_end(again)


def _loads(expression: Expression) -> bool:
    return any(isinstance(part, Element) for part in walk(expression))
