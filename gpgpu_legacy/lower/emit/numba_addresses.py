"""The addresses of a kernel's loads and stores, as Python text of a generator (lower/jit.py)."""

from __future__ import annotations

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.kernel.dependence import check_data_independent, control_variables
from gpgpu_legacy.kernel.ir import (
    Binary,
    Element,
    Expression,
    Kernel,
    LValue,
    Select,
    Space,
    variable_names,
    walk,
)
from gpgpu_legacy.lower.analysis.kernel_schedule import (
    GROUP,
    Schedule,
    Scheduled,
    schedule_kernel,
)
from gpgpu_legacy.lower.emit.numba_intrinsics import INTRINSICS
from gpgpu_legacy.lower.emit.numba_kernel import Emitter, marked

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

    def assign(self, target: LValue, value: Expression, depth: int, level: int) -> None:
        self.accesses(value, depth)
        if isinstance(target, Element):
            self.access(target, depth, store=True)
        elif variable_names(target) <= self.kept:
            super().assign(target, value, depth, level)

    def end_block(self, body: tuple[Scheduled, ...], depth: int) -> None:
        self.add(depth, "pass")  # what is in the body may all have been data

    def accesses(self, expression: Expression, depth: int) -> None:
        """The loads that an expression makes, in the order in which it is evaluated."""
        if not any(isinstance(part, Element) for part in walk(expression)):
            return
        match expression:
            case Element():
                self.access(expression, depth, store=False)
            case Select(condition=condition, chosen=chosen, other=other):
                self.add(depth, f"if {self.value(condition, GROUP)}:")
                self.accesses(chosen, depth + 1)
                self.end_block((), depth + 1)
                self.add(depth, "else:")
                self.accesses(other, depth + 1)
                self.end_block((), depth + 1)
            case Binary(operator="&&" | "||" as operator, left=left, right=right):
                self.accesses(left, depth)
                negated = "not " * (operator == "||")
                self.add(depth, f"if {negated}{self.value(left, GROUP)}:")
                self.accesses(right, depth + 1)
                self.end_block((), depth + 1)
            case _:
                for operand in expression.children:
                    self.accesses(operand, depth)

    def access(self, element: Element, depth: int, *, store: bool) -> None:
        name, flat = element.array, self.flat(element, GROUP)
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
    kernel = marked(kernel, unproven)
    schedule = schedule_kernel(kernel)
    return _AddressEmitter(kernel, schedule, control_variables(schedule.body)).text()
