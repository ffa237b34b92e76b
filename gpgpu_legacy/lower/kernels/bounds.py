"""Proves loads and stores of a dispatch to be inside their arrays, whatever the data.

The numbers of a dispatch are known: its work groups, its uniforms, and how long the buffers are. So
an index computed from these, invocations and loop counters is a linear form (integers.py) of
symbols with known ranges: of the work group, of the invocation, of a loop's trip. Its bounds are
exact, or narrowed by the conditions that lead to the access. Any other integer, such as a loaded
one, is a new symbol as wide as its type; so is one that may wrap around. Unproven accesses are
checked at run time (lower/emit/llvm_kernel.py).

A loop is walked once. A variable that grows by a constant in each trip is its start plus that
constant times the trip, and the condition bounds the trips; all other assigned variables are
unknown in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from gpgpu_legacy.isa.expressions import (
    Choice,
    Constant,
    Expression,
    Invocation,
    Operation,
    Read,
    Variable,
)
from gpgpu_legacy.isa.kernel import RANGES, Kernel, assigned_names, numbered, parts, variable_names
from gpgpu_legacy.isa.statements import Assign, Declare, If, Loop, Statement, Store
from gpgpu_legacy.isa.types import Operator, Type
from gpgpu_legacy.lower.kernels.integers import (
    DispatchNumbers,
    Integers,
    LinearForm,
)
from gpgpu_legacy.plan.numbers import Affine
from gpgpu_legacy.plan.plan import ComputePass, constant_groups

_UNBOUNDED = 2**40  # trips: more than any loop of 32 bits that ends


def unproven(pass_: ComputePass, lengths: Mapping[str, int], iterations: int = 1) -> frozenset[int]:
    """The numbers (isa/kernel.py) of the accesses that may be outside their arrays.

    pass_: without Tables. lengths: elements of the buffers by their names in the kernel.
    iterations: the number of runs of the pass; uniforms may be Affine in them.
    """
    values = pass_.uniform_values
    integers = [(u.name, values[u.name]) for u in pass_.kernel.uniforms if u.type.is_integer]
    uniforms = tuple(
        (name, int(v.base), int(v.step)) if isinstance(v, Affine) else (name, int(v), 0)
        for name, v in integers
    )
    dispatch = DispatchNumbers(
        constant_groups(pass_.groups), uniforms, tuple(lengths.items()), iterations
    )
    return _unproven(pass_.kernel, dispatch)


@lru_cache(maxsize=256)
def _unproven(kernel: Kernel, dispatch: DispatchNumbers) -> frozenset[int]:
    kernel = numbered(kernel)
    walk = BoundsWalk(kernel, dispatch)
    walk.statements(kernel.body)
    return frozenset(walk.unproven)


_Induction = dict[str, tuple[LinearForm, int]]
"""A loop's numbers at its start and what each trip adds to them."""


def _at(induction: _Induction, trip: LinearForm) -> dict[str, LinearForm]:
    """The numbers in a trip."""
    return {name: start + trip.times(step) for name, (start, step) in induction.items()}


class BoundsWalk(Integers):
    """Walks a kernel as an arbitrary invocation."""

    # Statements -----------------------------------------------------------------------------

    def statements(self, statements: Iterable[Statement]) -> None:
        for statement in statements:
            match statement:
                case Declare(variable=variable, value=value):
                    zero = Constant((0,), variable.type)
                    self.define(variable, zero if value is None else value)
                case Assign(variable=variable, value=value):
                    self.define(variable, value)
                case Store(element=element, value=value):
                    self.visit(element)
                    self.visit(value)
                case If():
                    self.branch(statement)
                case Loop():
                    self.loop(statement)

    def define(self, variable: Variable, value: Expression) -> None:
        name = variable.name
        self.kinds[name] = variable.type
        if variable.type.is_integer:
            self.numbers[name] = self.number(value)
        else:
            self.visit(value)

    def branch(self, statement: If) -> None:
        facts, before = self.condition(statement.condition), self.numbers
        sides: list[tuple[tuple[LinearForm, ...], dict[str, LinearForm]]] = []
        for holds, body in zip(facts, (statement.then, statement.otherwise), strict=True):
            self.numbers = dict(before)
            with self.ranges.given(holds):
                self.statements(body)
            sides.append((holds, self.numbers))
        self.numbers = {}
        for name in before:
            forms = [(holds, numbers[name]) for holds, numbers in sides]
            alike = forms[0][1] == forms[1][1]
            self.numbers[name] = forms[0][1] if alike else self.either(forms)

    # Loops ----------------------------------------------------------------------------------

    def loop(self, loop: Loop) -> None:
        self.statements(loop.start)
        inside, before = (*loop.body, *loop.step), self.numbers
        changed = assigned_names(*inside)
        self.numbers = {
            name: self.anything(self.kinds[name]) if name in changed else form
            for name, form in before.items()
        }
        induction = self.induction(inside, before)
        trips = self.trips(loop.condition, induction)
        if trips is None:
            induction, trips = {}, _UNBOUNDED
        after = self.ranges.symbol(0, trips)
        self.put(_at(induction, after))
        self.condition(loop.condition)  # which is evaluated after the last trip, too
        ended = dict(self.numbers)
        if trips:
            self.put(_at(induction, self.ranges.symbol(0, trips - 1)))
            with self.ranges.given(self.condition(loop.condition).true):
                self.statements(inside)
        self.numbers = ended

    def put(self, numbers: Mapping[str, LinearForm]) -> None:
        """New values of variables: any value of the type if the form may wrap around."""
        for name, form in numbers.items():
            kind = self.kinds[name]
            fits = self.ranges.is_within(form, *RANGES[kind.kind])
            self.numbers[name] = form if fits else self.anything(kind)

    def induction(
        self, inside: tuple[Statement, ...], before: Mapping[str, LinearForm]
    ) -> _Induction:
        """The integers to which each trip adds the same number. before: the loop, their values."""
        nested = assigned_names(*(s for s in inside if isinstance(s, If | Loop)))
        steps: dict[str, int | None] = {}
        for statement in inside:
            if isinstance(statement, Declare):
                steps[statement.variable.name] = None
            elif isinstance(statement, Assign):
                name, step = statement.variable.name, self.step(statement)
                total = steps.get(name, 0)
                steps[name] = None if step is None or total is None else total + step
        return {
            name: (before[name], total)
            for name, total in steps.items()
            if total is not None and name not in nested
        }

    def step(self, statement: Assign) -> int | None:
        """What an assignment in a loop adds to its variable, if that is the same each time."""
        if not _is_sum(statement.value) or not variable_names(statement) <= self.numbers.keys():
            return None
        self.exactly = True
        change = self.number(statement.value) - self.numbers[statement.variable.name]
        self.exactly = False
        return None if change.terms else change.constant

    def trips(self, condition: Expression, induction: _Induction) -> int | None:
        """The most trips of a loop, if that is known.

        A trip is a symbol without bound at first, and no number wraps around. So the condition, at
        most 0 as a form, gives the trips for which it can hold. Up to the trip after those, all
        parts of the condition must then fit their types, so that nothing has in fact wrapped
        around.
        """
        trip = self.ranges.symbol(0, _UNBOUNDED)
        ((symbol, _),) = trip.terms
        before = dict(self.numbers)
        self.numbers.update(_at(induction, trip))
        self.exactly = True
        forms: list[tuple[LinearForm, Type]] = []
        most: int | None = None
        for part in _conjuncts(condition):
            is_comparison = isinstance(part, Operation) and part.operands[0].type.is_integer
            if not is_comparison or not all(map(_is_sum, part.operands)):
                continue
            forms += [(self.number(number), number.type) for number in parts(*part.operands)]
            for fact in self.condition(part).true:
                growth = fact.of(symbol)
                if growth > 0:
                    rest = fact - trip.times(growth)
                    last = self.ranges.most(rest.times(-1)) // growth
                    most = last if most is None else min(most, last)
        self.exactly = False
        self.numbers = before
        if most is None or most >= _UNBOUNDED:
            return None
        trips = max(0, most + 1)
        # The forms are tried at both ends of the trips, between which they lie.
        for form, kind in forms:
            for end in (0, trips):
                at = LinearForm(form.constant, form.terms) + (LinearForm(end) - trip).times(
                    form.of(symbol)
                )
                if not self.ranges.is_within(at, *RANGES[kind.kind]):
                    return None
        return trips


def _conjuncts(condition: Expression) -> Iterator[Expression]:
    """The conditions that `&&` joins."""
    match condition:
        case Choice(operands=(left, right, Constant(values=(False,)))):
            yield from _conjuncts(left)
            yield from _conjuncts(right)
        case _:
            yield condition


def _is_sum(expression: Expression) -> bool:
    """Whether a number is made by sums and products of variables, uniforms and literals."""
    return all(map(_may_be_in_a_sum, parts(expression)))


def _may_be_in_a_sum(part: Expression) -> bool:
    match part:
        case Constant() | Read() | Invocation():
            return True
        case Operation(operator=Operator.CONVERT, operands=(operand,)):
            return operand.type.is_integer
        case Operation(operator=operator):
            return operator in _OF_SUMS
    return False


_OF_SUMS = {Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY, Operator.NEGATE}
