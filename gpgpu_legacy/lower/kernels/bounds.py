"""Proves loads and stores of a dispatch to be inside their arrays, whatever the data.

The numbers of a dispatch are known: its work groups, its uniforms, and the buffers' lengths. So an
index computed from these, invocations and loop counters is a linear form (integers.py) of symbols
with known ranges: of the work group, of the invocation, of a loop's trip. Its bounds are exact, or
narrowed by the conditions that lead to the access. Any other integer, such as a loaded one or one
that may wrap around, is a new symbol as wide as its type. Unproven accesses are checked at run time
(lower/emit/llvm_kernel.py).

A loop is walked once. A variable that grows by a constant in each trip is its start plus that
constant times the trip, and the condition bounds the trips; all other assigned variables are
unknown in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from gpgpu_legacy.isa.expressions import (
    BuiltIn,
    Choice,
    Constant,
    Element,
    Expression,
    Invocation,
    Operation,
    Read,
    Role,
    Variable,
)
from gpgpu_legacy.isa.kernel import RANGES, Kernel, assigned_names, numbered, parts, variable_names
from gpgpu_legacy.isa.statements import Assign, Declare, If, Loop, Statement, Store
from gpgpu_legacy.isa.types import BOOL, UINT, Operator, Type
from gpgpu_legacy.lower.kernels.integers import Facts, LinearForm, SymbolRanges, comparison
from gpgpu_legacy.plan.numbers import Affine
from gpgpu_legacy.plan.plan import ComputePass, constant_groups

MOST_TERMS = 16
"""The most symbols in a form; of a longer form only the range is kept."""

MOST_ELEMENTS = 2**31 - 2**24
"""Only indices below this can be proven: native code computes them as an int plus a distance in a
row, which must not wrap around. Beyond, in buffers of 8 GB, each access is checked."""

_WRAP = 2**32
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
    groups, known = constant_groups(pass_.groups), tuple(lengths.items())
    return _unproven(pass_.kernel, groups, uniforms, known, iterations)


@lru_cache(maxsize=256)
def _unproven(
    kernel: Kernel,
    groups: tuple[int, int],
    uniforms: tuple[tuple[str, int, int], ...],
    lengths: tuple[tuple[str, int], ...],
    iterations: int,
) -> frozenset[int]:
    """As unproven. uniforms: name, value in the first run, and step from run to run."""
    walk = BoundsWalk(numbered(kernel), groups, dict(lengths))
    iteration = walk.symbol(0, max(iterations - 1, 0))
    walk.uniforms = {name: LinearForm(base) + iteration * step for name, base, step in uniforms}
    walk.statements(walk.kernel.body)
    return frozenset(walk.unproven)


_Induction = dict[str, tuple[LinearForm, int]]
"""For a loop's variables: the value before the first trip, and the step of each trip."""

_Guarded = tuple[Sequence[LinearForm], LinearForm]
"""Facts, and the form that a number has if they hold."""


def _at(induction: _Induction, trip: LinearForm) -> dict[str, LinearForm]:
    """The values of a loop's variables in a trip."""
    return {name: start + trip * step for name, (start, step) in induction.items()}


class BoundsWalk(SymbolRanges):
    """Walks a kernel as an arbitrary invocation.

    numbers: the forms of the private integers here, by name. unproven: the numbers of the accesses
    so far that may be outside their arrays. exactly: whether integers are taken not to wrap around.
    """

    def __init__(self, kernel: Kernel, groups: tuple[int, int], lengths: Mapping[str, int]) -> None:
        """Begin at the start of the kernel, where no variable is known."""
        super().__init__()
        self.kernel, self.lengths = kernel, lengths
        self.unproven: set[int] = set()
        self.uniforms: dict[str, LinearForm] = {}
        self.numbers: dict[str, LinearForm] = {}
        self.kinds: dict[str, Type] = {}
        self.exactly = False
        self.group = [self.symbol(0, max(n - 1, 0)) for n in groups]
        self.local = [self.symbol(0, n - 1) for n in kernel.local_size]
        self.quotients: dict[tuple[LinearForm, int], LinearForm] = {}

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
        sides: list[tuple[Sequence[LinearForm], dict[str, LinearForm]]] = []
        for holds, body in zip(facts, (statement.then, statement.otherwise), strict=True):
            self.numbers = dict(before)
            with self.given(holds):
                self.statements(body)
            sides.append((holds, self.numbers))
        self.numbers = {
            name: self.either([(holds, numbers[name]) for holds, numbers in sides])
            for name in before
        }

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
        self.put(_at(induction, self.symbol(0, trips)))
        self.condition(loop.condition)  # evaluated after the last trip, too
        ended = dict(self.numbers)
        if trips:
            self.put(_at(induction, self.symbol(0, trips - 1)))
            with self.given(self.condition(loop.condition).true):
                self.statements(inside)
        self.numbers = ended

    def put(self, numbers: Mapping[str, LinearForm]) -> None:
        """Give variables new values: any value of the type if the form may wrap around."""
        for name, form in numbers.items():
            kind = self.kinds[name]
            fits = self.is_within(form, *RANGES[kind.kind])
            self.numbers[name] = form if fits else self.anything(kind)

    def induction(
        self, inside: tuple[Statement, ...], before: Mapping[str, LinearForm]
    ) -> _Induction:
        """The integers to which each trip adds the same number.

        inside: the statements of a trip. before: the values of integers before the loop.
        """
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
        """The number that an assignment adds to its variable; None if that is not known."""
        if not _is_sum(statement.value) or not variable_names(statement) <= self.numbers.keys():
            return None
        self.exactly = True
        change = self.number(statement.value) - self.numbers[statement.variable.name]
        self.exactly = False
        return None if change.terms else change.constant

    def trips(self, condition: Expression, induction: _Induction) -> int | None:
        """The most trips of a loop; None if that is not known.

        At first the trip is a symbol without bound, and numbers are taken not to wrap around. Each
        fact of the condition, a form that is at most 0, then bounds the trips in which it can hold.
        In these, and in the one after, all parts of the condition must fit their types: so none of
        them has wrapped around.
        """
        trip = self.symbol(0, _UNBOUNDED)
        ((symbol, _),) = trip.terms
        before = dict(self.numbers)
        self.numbers.update(_at(induction, trip))
        self.exactly = True
        forms: list[tuple[LinearForm, Type]] = []
        most = _UNBOUNDED
        for part in _conjuncts(condition):
            is_comparison = isinstance(part, Operation) and part.operands[0].type.is_integer
            if not is_comparison or not all(map(_is_sum, part.operands)):
                continue
            forms += [(self.number(number), number.type) for number in parts(*part.operands)]
            for fact in self.condition(part).true:
                growth = fact.of(symbol)
                if growth > 0:
                    most = min(most, self.most(trip * growth - fact) // growth)
        self.exactly = False
        self.numbers = before
        if most == _UNBOUNDED:
            return None
        trips = max(0, most + 1)
        # A form lies between its values in the first trip and in the last.
        ends = [LinearForm(end) - trip for end in (0, trips)]
        fits = all(
            self.is_within(form + end * form.of(symbol), *RANGES[kind.kind])
            for form, kind in forms
            for end in ends
        )
        return trips if fits else None

    # Expressions ----------------------------------------------------------------------------

    def visit(self, expression: Expression) -> None:
        """Check the accesses in an expression of any type."""
        if expression.type.is_integer:
            self.number(expression)
        elif expression.type == BOOL:
            self.condition(expression)
        else:
            self.parts(expression)

    def parts(self, expression: Expression) -> None:
        """Check the accesses in an expression whose value is not needed."""
        match expression:
            case Element():
                self.access(expression)
            case Choice():
                self.choose(expression)
            case _:
                for part in expression.operands:
                    self.visit(part)

    def choose(self, expression: Choice) -> LinearForm | None:
        """The number that a choice gives; None if it gives no integer."""
        condition, *sides = expression.operands
        choices: list[_Guarded] = []
        for holds, side in zip(self.condition(condition), sides, strict=True):
            with self.given(holds):
                if side.type.is_integer:
                    choices.append((holds, self.number(side)))
                else:
                    self.visit(side)
        return self.either(choices) if choices else None

    def either(self, choices: Sequence[_Guarded]) -> LinearForm:
        """A form of a number that is one of these, each where its facts hold."""
        if len({form for _, form in choices}) == 1:
            return choices[0][1]
        ends: list[int] = []
        for holds, form in choices:
            with self.given(holds):
                ends += self.bounds(form)
        return self.symbol(min(ends), max(ends))

    def access(self, element: Element) -> None:
        """Record an access unless it is proven to be inside its array."""
        indices = [self.number(index) for index in element.operands]
        extents = element.array.extents or (self.lengths.get(element.array.name, 0),)
        flat, length = LinearForm(0), 1
        for index, extent in zip(indices, extents, strict=True):
            flat = flat * extent + index
            length *= extent
        are_small = all(self.is_within(index, 0, MOST_ELEMENTS - 1) for index in indices)
        if not are_small or not self.is_within(flat, 0, length - 1):
            self.unproven.add(element.number)

    def condition(self, expression: Expression) -> Facts:
        """The facts that hold if a bool is true, and those if it is false."""
        match expression:
            case Constant(values=(value,)):
                return Facts() if value else Facts((LinearForm(1),))  # 1 is never at most 0
            case Operation(operator=Operator.NOT, operands=(operand,)):
                return Facts(*reversed(self.condition(operand)))
            case Choice(operands=(left, right, Constant(values=(False,)))):
                first = self.condition(left)
                with self.given(first.true):
                    second = self.condition(right)
                return Facts(first.true + second.true)
            case Choice(operands=(left, Constant(values=(True,)), right)):
                first = self.condition(left)
                with self.given(first.false):
                    second = self.condition(right)
                return Facts((), first.false + second.false)
            case Operation(operator=operator, operands=(left, right)) if left.type.is_integer:
                return comparison(operator, self.number(left), self.number(right))
        self.parts(expression)
        return Facts()

    def number(self, expression: Expression) -> LinearForm:  # noqa: PLR0911 - a case each
        """An integer as a form of the symbols."""
        kind = expression.type
        match expression:
            case Constant(values=(value,)):
                return self.fitted(LinearForm(int(value)), kind)
            case Read(variable=variable) if variable.role is not Role.UNIFORM:
                return self.numbers[variable.name]
            case Read(variable=variable):
                return self.uniforms.get(variable.name) or self.anything(kind)
            case Invocation():
                return self.identity(expression)
            case Operation(operator=Operator.CONVERT, operands=(operand,)):
                if operand.type.is_integer:
                    return self.fitted(self.number(operand), kind)
                self.visit(operand)
                return self.symbol(0, 1) if operand.type == BOOL else self.anything(kind)
            case Operation(operator=Operator.NEGATE, operands=(operand,)):
                return self.fitted(-self.number(operand), kind)
            case Operation(operator=operator, operands=(left, right)):
                return self.computed(operator, self.number(left), self.number(right), kind)
            case Choice():
                return self.choose(expression) or self.anything(kind)
        self.parts(expression)
        return self.anything(kind)

    def computed(  # noqa: PLR0911 - a case each
        self, operator: Operator, left: LinearForm, right: LinearForm, kind: Type
    ) -> LinearForm:
        """The result of an operator for two numbers."""
        divisor = 0 if right.terms else right.constant
        match operator:
            case Operator.ADD:
                return self.fitted(left + right, kind)
            case Operator.SUBTRACT:
                return self.fitted(left - right, kind)
            case Operator.MULTIPLY if not left.terms:
                return self.fitted(right * left.constant, kind)
            case Operator.MULTIPLY if not right.terms:
                return self.fitted(left * right.constant, kind)
            case Operator.MULTIPLY:
                corners = [a * b for a in self.range(left) for b in self.range(right)]
                return self.fitted(self.symbol(min(corners), max(corners)), kind)
            case Operator.DIVIDE | Operator.REMAINDER if divisor > 0:
                if self.most(-left, 0) <= 0:
                    quotient = self.quotient(left, divisor)
                    return quotient if operator is Operator.DIVIDE else left - quotient * divisor
                if operator is Operator.REMAINDER:
                    return self.symbol(1 - divisor, divisor - 1)
        return self.anything(kind)

    def quotient(self, left: LinearForm, divisor: int) -> LinearForm:
        """A symbol for the quotient of a number that is at least 0, with the facts about it."""
        if (left, divisor) not in self.quotients:
            low, high = self.range(left)
            symbol = self.symbol(max(low, 0) // divisor, high // divisor)
            self.quotients[left, divisor] = symbol
        quotient = self.quotients[left, divisor]
        rest = left - quotient * divisor
        facts = -rest, rest - LinearForm(divisor - 1)
        self.facts += (fact for fact in facts if fact not in self.facts)
        return quotient

    def identity(self, expression: Invocation) -> LinearForm:
        """An invocation's or a work group's number along an axis."""
        axis = expression.axis
        if axis == 2:
            return LinearForm(0)
        group, local = self.group[axis], self.local[axis]
        if expression.built_in is BuiltIn.WORK_GROUP_ID:
            return group
        if expression.built_in is BuiltIn.LOCAL_INVOCATION_ID:
            return local
        return self.fitted(group * self.kernel.local_size[axis] + local, UINT)

    def fitted(self, form: LinearForm, kind: Type) -> LinearForm:
        """The form as a 32-bit integer; any number of the type if it may wrap around."""
        if self.exactly:
            return form
        if len(form.terms) > MOST_TERMS:
            form = self.symbol(*self.range(form))
        low, high = RANGES[kind.kind]
        least, most = self.range(form)
        if least < low or most > high:
            least, most = self.bounds(form)
        window = (least - low) // _WRAP
        if (most - low) // _WRAP == window:
            return form - LinearForm(window * _WRAP) if window else form
        return self.anything(kind)

    def anything(self, kind: Type) -> LinearForm:
        """A new symbol for any number of a type."""
        return self.symbol(*RANGES[kind.kind])


def _conjuncts(condition: Expression) -> Iterator[Expression]:
    """The conditions that `&&` joins."""
    match condition:
        case Choice(operands=(left, right, Constant(values=(False,)))):
            yield from _conjuncts(left)
            yield from _conjuncts(right)
        case _:
            yield condition


def _is_sum(expression: Expression) -> bool:
    """Whether a number is made of sums and products of variables, uniforms and literals."""
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
