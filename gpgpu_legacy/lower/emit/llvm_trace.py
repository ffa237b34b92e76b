"""The loads and stores of kernels as LLVM IR: their addresses, and none of the data.

For kernels of one invocation a work group whose control flow and addresses depend on no data. The
function pauses whenever its arrays are full, and goes on there when it is called again.
"""

from __future__ import annotations

from typing import Any

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.ir.dependence import check_data_independent, control_variables
from gpgpu_legacy.ir.expressions import Choice, Element, Expression, Variable
from gpgpu_legacy.ir.kernel import Kernel
from gpgpu_legacy.ir.statements import Store
from gpgpu_legacy.ir.types import Components
from gpgpu_legacy.ir.walks import walk
from gpgpu_legacy.lower.emit.llvm_basics import I16, I64, integer
from gpgpu_legacy.lower.emit.llvm_kernel import KernelEmitter
from gpgpu_legacy.lower.emit.llvm_words import Words
from gpgpu_legacy.lower.kernels.schedule import GROUP

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
        names = control_variables(self.body)
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
