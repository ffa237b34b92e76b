"""The loops of a kernel's native code, and the statements in each of them.

In a work group, each statement is executed at its level: once per group if it is the same for all
invocations (GROUP), once per row of invocations if it depends on gl_LocalInvocationID.y alone
(ROW), otherwise once per invocation. Statements of lower levels are outside the loops over rows
(ty) and invocations (tx); neighbours at a higher level share a loop. A barrier ends the loops, so a
statement that contains one must be at the level of the group. OpenCL on CPUs uses this loop
fission.

A `for` is at its condition's level: if all invocations have the same condition, the `for` goes
around the loop over tx, which then reads rows in order and vectorises. Only a `for` with constant
bounds stays inside: LLVM unrolls it, and the loop over tx still vectorises, with sums in registers.

There are three stages: `versions` (renaming, so that updated indices split no loop), the level of
every variable, and the loops around statements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.expressions import (
    BuiltIn,
    Constant,
    Element,
    Expression,
    Invocation,
    Operation,
    Read,
    Variable,
    read,
)
from gpgpu_legacy.isa.kernel import (
    Kernel,
    assigned,
    assigned_names,
    has_barrier,
    parts,
    variable_names,
)
from gpgpu_legacy.isa.statements import (
    Assign,
    Barrier,
    Declare,
    If,
    Invocations,
    Loop,
    Statement,
    Store,
    expressions_of,
    nested,
    rebuilt,
    statements_below,
    with_expressions,
)
from gpgpu_legacy.isa.types import Operator

GROUP, ROW, INVOCATION = 0, 1, 2
"""The levels, from the outermost loop to the innermost."""


# Versions of indices -------------------------------------------------------------------------


def versions(statements: tuple[Statement, ...], number: Iterator[int]) -> tuple[Statement, ...]:
    """The statements with a new variable for each new value of an integer, as far as possible.

    In `v = B[i]; i += n; w = B[i];` the second value of i can then be computed before both loads,
    so that one loop has both. Versions end where a nested statement assigns the variable, and with
    the list. The steps of a `for` move to the end of its body.
    """
    versioned: list[Statement] = []
    latest: dict[str, tuple[Variable, Variable]] = {}  # a variable, and the version with its value
    tail = _tail(statements)

    def write_back(names: Iterable[str]) -> None:
        for name in sorted(names & latest.keys()):
            owner, version = latest.pop(name)
            versioned.append(Assign(owner, read(owner).components, read(version)))

    def version_of(expression: Expression) -> Expression:
        if not isinstance(expression, Read) or expression.variable.name not in latest:
            return expression
        return read(latest[expression.variable.name][1])

    for index, statement in enumerate(statements):
        write_back(assigned_names(statement) if isinstance(statement, If | Loop) else set())
        new = statement
        match statement:
            case Assign(variable=variable, value=value) if (
                variable.type.is_integer and index < tail
            ):
                name = variable.name
                version = Variable(f"{next(number)}_{name}", variable.type)  # no name of GLSL
                versioned.append(Declare(version, rebuilt(value, version_of)))
                latest[name] = variable, version
                continue
            case If(condition=condition, then=then, otherwise=otherwise):
                new = If(condition, versions(then, number), versions(otherwise, number))
            case Loop(start=start, condition=condition, step=step, body=body):
                new = Loop(start, condition, (), versions(body + step, number))
        versioned.append(with_expressions(new, version_of))
        if isinstance(statement, Assign):
            latest.pop(statement.variable.name, None)
    declared = {s.variable.name for s in statements if isinstance(s, Declare)}
    write_back(latest.keys() - declared)
    return tuple(versioned)


def _tail(statements: tuple[Statement, ...]) -> int:
    """The start of the assignments to integers at the end of a list; these split no loop."""
    end = len(statements)
    while end and isinstance(last := statements[end - 1], Assign) and last.variable.type.is_integer:
        end -= 1
    return end


# Levels --------------------------------------------------------------------------------------


@frozen
class Variation:
    """How a value varies in a work group: its level, and a constant slope along tx.

    An integer below the level of invocations is base + slope·tx (modulo 2³²), where the base is of
    that level. Only the base is kept, so that indices need no array and rows are read in order.
    """

    level: int
    slope: int = 0


_LARGEST_SLOPE = 1 << 10  # base + slope·tx then stays far from wrapping around 32 bits twice


class KernelLoops:
    """A kernel's statements in their loops, from the level of every private variable.

    body: the statements, with versions of variables. variables: the variation of each, a fixed
    point over all of its assignments. nest: the statements in their loops.
    """

    def __init__(self, kernel: Kernel) -> None:
        """Raise PlanError if not all invocations of a group reach a barrier."""
        self.kernel, self.body = kernel, versions(kernel.body, count(1))
        across, up = kernel.local_size
        self.finest = INVOCATION if across > 1 else ROW if up > 1 else GROUP
        stores = (s for s in statements_below(self.body) if isinstance(s, Store))
        self.written = {store.element.array for store in stores}
        self.variables: dict[str, Variation] = {}
        before: dict[str, Variation] | None = None
        while before != self.variables:
            before = dict(self.variables)
            self.visit(self.body, GROUP)
        self.nest = self.scheduled(self.body, GROUP)

    # Levels

    def visit(self, statements: tuple[Statement, ...], control: int) -> None:
        """Join the assignments of statements under conditions of the level `control`."""
        for statement in statements:
            match statement:
                case (
                    Declare(variable=variable, value=value) | Assign(variable=variable, value=value)
                ):
                    self.join(variable, value, control)
                case If() | Loop():
                    self.visit(nested(statement), max(control, self.level(statement)))

    def join(self, variable: Variable, value: Expression | None, control: int) -> None:
        """Join one more assignment to the variation of its variable."""
        new = Variation(GROUP) if value is None else self.of(value)
        old = self.variables.get(variable.name, new)
        level = max(new.level, old.level, control)
        self.variables[variable.name] = self.limited(
            level if new.slope == old.slope else self.finest, new.slope
        )

    def level(self, statement: Statement) -> int:
        """The level at which a statement is executed.

        It is the condition's for an `if` or `for`, except a `for` with constant bounds.
        """
        match statement:
            case Loop(body=body) if _is_constant(statement) and not has_barrier(*body):
                return self.finest
            case If(condition=condition) | Loop(condition=condition):
                return self.of(condition).level
            case Barrier():
                return GROUP
        target = assigned(statement)
        return self.finest if target is None else self.variables[target.name].level

    def limited(self, level: int, slope: int) -> Variation:
        if level == self.finest or abs(slope) > _LARGEST_SLOPE:
            return Variation(self.finest)
        return Variation(level, slope)

    def flat(self, *parts: Expression) -> Variation:
        """The variation of an operation on these parts that keeps no slope."""
        variations = [self.of(part) for part in parts]
        if any(variation.slope for variation in variations):
            return Variation(self.finest)
        return Variation(max((variation.level for variation in variations), default=GROUP))

    def of(self, expression: Expression) -> Variation:
        """The variation of an expression, as far as its variables are known."""
        match expression:
            case Read(variable=variable):
                # Not known yet: taken as the least until the fixed point is reached.
                return self.variables.get(variable.name, Variation(GROUP))
            case Invocation():
                return self.identity(expression)
            case Element(array=array) if array in self.written:
                return Variation(self.finest)
            case Operation(operator=operator, operands=operands, type=type_) if type_.is_integer:
                if operator is Operator.CONVERT and operands[0].type.is_integer:
                    return self.of(operands[0])
                if operator in (Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY):
                    return self.affine(operator, *operands)
        return self.flat(*expression.operands)

    def affine(self, operator: Operator, left: Expression, right: Expression) -> Variation:
        a, b = self.of(left), self.of(right)
        level = max(a.level, b.level)
        if operator is not Operator.MULTIPLY:
            other = b.slope if operator is Operator.ADD else -b.slope
            return self.limited(level, a.slope + other)
        for factor, other_ in ((left, b), (right, a)):
            if isinstance(factor, Constant):
                return self.limited(level, int(factor.values[0]) * other_.slope)
        return self.flat(left, right)

    def identity(self, expression: Invocation) -> Variation:
        axis = expression.axis
        if expression.built_in is BuiltIn.WORK_GROUP_ID or (*self.kernel.local_size, 1)[axis] == 1:
            return Variation(GROUP)
        return Variation(ROW) if axis == 1 else Variation(GROUP, 1)

    # Loops

    def scheduled(self, statements: tuple[Statement, ...], level: int) -> tuple[Statement, ...]:
        """Statements in the loops that they need. level: of the loops around them already."""
        done: list[Statement] = []
        waiting: list[Statement] = []  # of higher levels, for one loop

        def close() -> None:
            if waiting:
                inside = self.scheduled(tuple(waiting), level + 1)
                done.append(Invocations(INVOCATION - level - 1, inside))
                waiting.clear()

        for statement in statements:
            if self.level(statement) > level:
                self.check(statement)
                waiting.append(statement)
                continue
            target = assigned(statement)
            # The statement reads only its own level and below, which nothing waiting assigns.
            if target is None or target.name in variable_names(*waiting):
                close()
            done.extend(self.at_level(statement, level))
        close()
        return tuple(done)

    def at_level(self, statement: Statement, level: int) -> tuple[Statement, ...]:
        """A statement of that level or below; nested statements may need loops."""
        match statement:
            case Declare() | Assign() | Store():
                return (statement,)
            case If(condition=condition, then=then, otherwise=otherwise):
                branches = self.scheduled(then, level), self.scheduled(otherwise, level)
                return (If(condition, *branches),)
            case Loop(start=start, condition=condition, body=body):
                loop = Loop((), condition, (), self.scheduled(body, level))
                return (*self.scheduled(start, level), loop)
        return ()  # a barrier only ends loops

    def check(self, statement: Statement) -> None:
        if has_barrier(statement):
            kind = "an if" if isinstance(statement, If) else "a for"
            raise PlanError(
                f"{self.kernel.name}: a barrier stands in {kind} whose condition is not the same "
                "for all invocations of a work group; let it depend on uniforms and work group only"
            )

    def kept_in_arrays(self) -> dict[str, tuple[int, ...]]:
        """Variables that outlive a loop over ty or tx, with the levels of those loops."""
        seen: dict[tuple[str, int], set[int]] = {}
        numbers = count()

        def visit(statements: tuple[Statement, ...], loops: dict[int, int]) -> None:
            for statement in statements:
                target, own = assigned(statement), variable_names(*expressions_of(statement))
                for name in own | ({target.name} if target else set()):
                    for level in range(ROW, self.variables[name].level + 1):
                        seen.setdefault((name, level), set()).add(loops[level])
                inside = loops
                if isinstance(statement, Invocations):
                    inside = loops | {INVOCATION - statement.axis: next(numbers)}
                visit(nested(statement), inside)

        visit(self.nest, {})
        arrays: dict[str, tuple[int, ...]] = {}
        for (name, level), loops in sorted(seen.items()):
            if len(loops) > 1:
                arrays[name] = (*arrays.get(name, ()), level)
        return arrays


def _is_constant(loop: Loop) -> bool:
    """Whether a loop's bounds are literals, as far as its condition tells."""
    literals = {
        statement.variable.name
        for statement in loop.start
        if isinstance(statement, Declare) and isinstance(statement.value, Constant)
    }
    return all(
        not isinstance(part, Invocation | Element)
        and (not isinstance(part, Read) or part.variable.name in literals)
        for part in parts(loop.condition)
    )
