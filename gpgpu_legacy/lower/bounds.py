"""Which loads and stores of a dispatch are inside of their arrays, whatever the data.

The numbers of a dispatch are known: its work groups, its uniforms, and how long the buffers are. So
an index that is made of those, of invocations and of what loops count is a linear form
(lower/ranges.py) of symbols with known ranges: of the work group, of the invocation, of a loop's
trip. Its largest and least value are exact, or lowered by the conditions that lead to the access.
An integer that is made otherwise, by a load say, is a new symbol as wide as its type; so is one
that may wrap around. What is not proven is checked while it runs (lower/jit.py).

A loop is walked once. What grows in it by the same number each time is its start plus that number
times the trip, and its condition bounds the trips; all else that it assigns is unknown in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from gpgpu_legacy.kernel.accesses import numbered
from gpgpu_legacy.kernel.ir import (
    Assign,
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
    Select,
    Space,
    Statement,
    Type,
    Unary,
    Uniform,
    Variable,
    Vector,
)
from gpgpu_legacy.lower.ranges import MOST_TERMS, Form, Ranges
from gpgpu_legacy.plan.numbers import Affine, Table
from gpgpu_legacy.plan.plan import ComputePass, constant_groups

MOST_ELEMENTS = 2**31 - 2**24
"""Up to here an index may be proven: native code then computes it as an int plus a distance in its
row, in which nothing may wrap around. Beyond, in buffers of 8 GB, each access is checked."""

_RANGES = {Type.INT: (-(2**31), 2**31 - 1), Type.UINT: (0, 2**32 - 1)}
_WRAP = 2**32
_UNBOUNDED = 2**40  # trips: more than any loop of 32 bits that ends


def unproven(pass_: ComputePass, lengths: Mapping[str, int], iterations: int = 1) -> frozenset[int]:
    """The numbers (kernel/accesses.py) of the accesses that may be outside of their arrays.

    pass_: without Tables. lengths: elements of the buffers by their names in the kernel.
    iterations: how often the pass runs; uniforms may be Affine in them.
    """
    given = {uniform.name: uniform.value for uniform in pass_.uniforms}
    uniforms: list[tuple[str, int, int]] = []
    for uniform in pass_.kernel.uniforms:
        value = given[uniform.name]
        if uniform.type.is_integer and isinstance(value, Affine):
            uniforms.append((uniform.name, int(value.base), int(value.step)))
        elif uniform.type.is_integer and not isinstance(value, Affine | Table):
            uniforms.append((uniform.name, int(value), 0))
    known = _Known(
        constant_groups(pass_.groups), tuple(uniforms), tuple(lengths.items()), iterations
    )
    return _unproven(pass_.kernel, known)


@dataclass(frozen=True)
class _Known:
    """The numbers of a dispatch. uniforms: name, first value and step from run to run."""

    groups: tuple[int, int]
    uniforms: tuple[tuple[str, int, int], ...]
    lengths: tuple[tuple[str, int], ...]
    iterations: int


@lru_cache(maxsize=256)
def _unproven(kernel: Kernel, known: _Known) -> frozenset[int]:
    kernel = numbered(kernel)
    walk = _Walk(kernel, known)
    walk.statements(kernel.body)
    return frozenset(walk.unproven)


@dataclass(frozen=True)
class _Facts:
    """What holds where a condition is true, and where it is false."""

    true: tuple[Form, ...] = ()
    false: tuple[Form, ...] = ()


_UNKNOWN = _Facts()
_NEVER = _Facts((Form(1),), ())  # of the literal false; 1 is never at most 0


@dataclass
class _Induction:
    """A loop's numbers at its start and what each trip adds to them."""

    start: dict[str, Form] = field(default_factory=dict)
    step: dict[str, int] = field(default_factory=dict)

    def at(self, trip: Form) -> dict[str, Form]:
        """Their values in a trip."""
        return {name: form + trip.times(self.step[name]) for name, form in self.start.items()}


class _Walk:
    """Walks a kernel as one of its invocations, any of them."""

    def __init__(self, kernel: Kernel, known: _Known) -> None:
        self.kernel, self.ranges = kernel, Ranges()
        self.lengths = dict(known.lengths)
        self.unproven: set[int] = set()
        self.numbers: dict[str, Form] = {}  # of the private integers that are known here
        self.conditions: dict[str, _Facts] = {}  # of the private bools that are known here
        self.kinds: dict[str, Type] = {}
        self.exactly = False  # integers are taken not to wrap around; see `trips`
        iteration = self.ranges.symbol(0, max(known.iterations - 1, 0))
        self.uniforms = {
            name: Form(base) + iteration.times(step) for name, base, step in known.uniforms
        }
        self.group = tuple(self.ranges.symbol(0, max(n - 1, 0)) for n in known.groups)
        self.local = tuple(self.ranges.symbol(0, n - 1) for n in kernel.local_size)
        self.quotients: dict[tuple[Form, int], Form] = {}

    # Statements -----------------------------------------------------------------------------

    def statements(self, statements: Iterable[Statement]) -> None:
        for statement in statements:
            match statement:
                case Declare(variable=variable, value=value):
                    self.define(variable, Literal(variable.type, 0) if value is None else value)
                case Assign(target=Variable() as variable, value=value):
                    self.define(variable, value)
                case Assign(target=target, value=value):
                    self.visit(target)
                    self.visit(value)
                case If():
                    self.branch(statement)
                case For():
                    self.loop(statement)

    def define(self, variable: Variable, value: Expression) -> None:
        name = variable.name
        self.kinds[name] = variable.type
        if variable.type.is_integer:
            self.numbers[name] = self.number(value)
        elif variable.type is Type.BOOL:
            self.conditions[name] = self.condition(value)
        else:
            self.visit(value)

    def branch(self, statement: If) -> None:
        facts = self.condition(statement.condition)
        before = self.numbers, self.conditions
        sides: list[tuple[tuple[Form, ...], dict[str, Form], dict[str, _Facts]]] = []
        for holds, body in ((facts.true, statement.then), (facts.false, statement.otherwise)):
            self.numbers, self.conditions = dict(before[0]), dict(before[1])
            with self.ranges.given(holds):
                self.statements(body)
            sides.append((holds, self.numbers, self.conditions))
        (_, one, _), (_, other, _) = sides
        self.numbers, self.conditions = {}, {}
        for name in before[0]:
            self.numbers[name] = one[name]
            if one[name] != other[name]:
                self.numbers[name] = self.either([(holds, n[name]) for holds, n, _ in sides])
        for name, known in sides[0][2].items():
            if sides[1][2].get(name) == known:
                self.conditions[name] = known

    def either(self, choices: Iterable[tuple[tuple[Form, ...], Form]]) -> Form:
        """A number that is one of these forms, each where its facts hold."""
        ends: list[int] = []
        for holds, form in choices:
            with self.ranges.given(holds):
                ends += -self.ranges.most(form.times(-1)), self.ranges.most(form)
        return self.ranges.symbol(min(ends), max(ends))

    # Loops ----------------------------------------------------------------------------------

    def loop(self, loop: For) -> None:
        self.statements(loop.start)
        inside = (*loop.body, *loop.step)
        changed = set(_assigned(inside))
        induction = self.induction(inside, changed)
        for name in changed:
            self.forget(name)
        trips = self.trips(loop.condition, induction)
        before = dict(self.numbers), dict(self.conditions)
        if trips is None:
            induction, trips = _Induction(), _UNBOUNDED
        after = self.ranges.symbol(0, trips)
        self.put(induction.at(after))
        self.condition(loop.condition)  # which is evaluated after the last trip, too
        ended = dict(self.numbers), dict(before[1])
        if trips:
            self.put(induction.at(self.ranges.symbol(0, trips - 1)))
            self.conditions = dict(before[1])
            with self.ranges.given(self.condition(loop.condition).true):
                self.statements(inside)
        self.numbers, self.conditions = ended

    def forget(self, name: str) -> None:
        """A variable has any value of its type."""
        if name in self.numbers:
            self.numbers[name] = self.anything(self.kinds[name])
        self.conditions.pop(name, None)

    def put(self, numbers: Mapping[str, Form]) -> None:
        """New values of variables: any of their types where the form may wrap around."""
        for name, form in numbers.items():
            kind = self.kinds[name]
            fits = self.ranges.is_within(form, *_RANGES[kind])
            self.numbers[name] = form if fits else self.anything(kind)

    def induction(self, inside: tuple[Statement, ...], changed: set[str]) -> _Induction:
        """The integers to which each trip adds the same number."""
        found = _Induction()
        nested = set(_assigned(s for s in inside if isinstance(s, If | For)))
        steps: dict[str, int | None] = {}
        for statement in inside:
            if isinstance(statement, Declare):
                steps[statement.variable.name] = None
            elif isinstance(statement, Assign) and isinstance(statement.target, Variable):
                name, step = statement.target.name, self.step(statement, changed)
                before = steps.get(name, 0)
                steps[name] = None if step is None or before is None else before + step
        for name, total in steps.items():
            if total is not None and name in self.numbers and name not in nested:
                found.start[name], found.step[name] = self.numbers[name], total
        return found

    def step(self, statement: Assign, changed: set[str]) -> int | None:
        """What an assignment `v = v + n` adds, where that is the same number each time."""
        target, value = statement.target, statement.value
        if not target.type.is_integer or not isinstance(value, Binary):
            return None
        if value.operator not in ("+", "-"):
            return None
        left, right = value.left, value.right
        if value.operator == "+" and right == target:
            left, right = right, left
        if left != target or not _is_plain(right, changed):
            return None
        form = self.number(right)
        if form.terms:
            return None
        return form.constant if value.operator == "+" else -form.constant

    def trips(self, condition: Expression, induction: _Induction) -> int | None:
        """The most trips of a loop, if that is known.

        A trip is a symbol without bound at first, and no number wraps around. So the condition, at
        most 0 as a form, says for which trips it can hold. Up to the trip after those, all that the
        condition is made of has then to fit its type, so that nothing has wrapped around indeed.
        """
        trip = self.ranges.symbol(0, _UNBOUNDED)
        ((symbol, _),) = trip.terms
        before = dict(self.numbers)
        self.numbers.update(induction.at(trip))
        self.exactly = True
        forms: list[tuple[Form, Type]] = []
        most: int | None = None
        for part in _conjuncts(condition):
            facts, made = self.compared(part, symbol)
            forms += made
            for fact in facts:
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
                at = Form(form.constant, form.terms) + (Form(end) - trip).times(form.of(symbol))
                if not self.ranges.is_within(at, *_RANGES[kind]):
                    return None
        return trips

    def compared(
        self, part: Expression, symbol: int
    ) -> tuple[tuple[Form, ...], list[tuple[Form, Type]]]:
        """The facts of a comparison of sums, and every form in it, with its type."""
        if not isinstance(part, Binary) or not part.left.type.is_integer:
            return (), []
        if not (_is_sum(part.left) and _is_sum(part.right)):
            return (), []
        forms: list[tuple[Form, Type]] = []
        for side in (part.left, part.right):
            for each in _sums(side):
                form = self.number(each)
                forms.append((form, each.type))
        facts = _comparison(part.operator, self.number(part.left), self.number(part.right))
        return facts.true, forms

    # Expressions ----------------------------------------------------------------------------

    def visit(self, expression: Expression) -> None:
        """Look at the accesses of any expression."""
        if expression.type.is_integer:
            self.number(expression)
        elif expression.type is Type.BOOL:
            self.condition(expression)
        else:
            self.parts(expression)

    def parts(self, expression: Expression) -> None:
        match expression:
            case Element():
                self.access(expression)
            case Component(vector=operand) | Unary(operand=operand) | Convert(operand=operand):
                self.visit(operand)
            case Binary(left=left, right=right):
                self.visit(left)
                self.visit(right)
            case Vector(parts=parts):
                for part in parts:
                    self.visit(part)
            case Select():
                self.select(expression)

    def select(self, expression: Select) -> Form | None:
        """A number, or none, that is one of two."""
        facts = self.condition(expression.condition)
        choices: list[tuple[tuple[Form, ...], Form]] = []
        for holds, side in ((facts.true, expression.chosen), (facts.false, expression.other)):
            with self.ranges.given(holds):
                if side.type.is_integer:
                    choices.append((holds, self.number(side)))
                else:
                    self.visit(side)
        return self.either(choices) if choices else None

    def access(self, element: Element) -> None:
        indices = [self.number(index) for index in element.indices]
        extents: tuple[int, ...] = (self.lengths.get(element.array, 0),)
        if element.space is Space.SHARED:
            extents = next(s.extents for s in self.kernel.shared if s.name == element.array)
        flat, length = Form(0), 1
        for index, extent in zip(indices, extents, strict=True):
            flat = flat.times(extent) + index
            length *= extent
        each = all(self.ranges.is_within(index, 0, MOST_ELEMENTS - 1) for index in indices)
        if not each or not self.ranges.is_within(flat, 0, length - 1):
            self.unproven.add(element.number)

    def condition(self, expression: Expression) -> _Facts:  # noqa: PLR0911 - a case each
        """What a bool says where it is true, and where it is false."""
        match expression:
            case Literal(value=value):
                return _UNKNOWN if value else _NEVER
            case Variable(name=name):
                return self.conditions.get(name, _UNKNOWN)
            case Unary(operator="!", operand=operand):
                facts = self.condition(operand)
                return _Facts(facts.false, facts.true)
            case Binary(operator="&&" | "||" as operator, left=left, right=right):
                first = self.condition(left)
                with self.ranges.given(first.true if operator == "&&" else first.false):
                    second = self.condition(right)
                if operator == "&&":
                    return _Facts(first.true + second.true, ())
                return _Facts((), first.false + second.false)
            case Binary(operator=operator, left=left, right=right) if left.type.is_integer:
                return _comparison(operator, self.number(left), self.number(right))
        self.parts(expression)
        return _UNKNOWN

    def number(self, expression: Expression) -> Form:  # noqa: PLR0911 - a case each
        """An integer as a form of the symbols."""
        kind = expression.type
        match expression:
            case Literal(value=value):
                return self.fitted(Form(int(value)), kind)
            case Variable(name=name):
                return self.numbers[name]
            case Uniform(name=name):
                return self.uniforms[name] if name in self.uniforms else self.anything(kind)
            case BuiltInComponent():
                return self.identity(expression)
            case Convert(operand=operand) if operand.type.is_integer:
                return self.fitted(self.number(operand), kind)
            case Convert(operand=operand):
                self.visit(operand)
                return (
                    self.ranges.symbol(0, 1) if operand.type is Type.BOOL else self.anything(kind)
                )
            case Unary(operand=operand):
                return self.fitted(self.number(operand).times(-1), kind)
            case Binary(operator=operator, left=left, right=right):
                return self.computed(operator, self.number(left), self.number(right), kind)
            case Select():
                return self.select(expression) or self.anything(kind)
        self.parts(expression)
        return self.anything(kind)

    def computed(  # noqa: PLR0911 - a case each
        self, operator: str, left: Form, right: Form, kind: Type
    ) -> Form:
        match operator:
            case "+":
                return self.fitted(left + right, kind)
            case "-":
                return self.fitted(left - right, kind)
            case "*" if not left.terms or not right.terms:
                product = (
                    right.times(left.constant) if not left.terms else left.times(right.constant)
                )
                return self.fitted(product, kind)
            case "*":
                corners = [a * b for a in self.ranges.range(left) for b in self.ranges.range(right)]
                return self.fitted(self.ranges.symbol(min(corners), max(corners)), kind)
            case "/" | "%" if not right.terms and right.constant > 0:
                if self.ranges.is_at_most(left.times(-1), 0):
                    quotient = self.quotient(left, right.constant)
                    return quotient if operator == "/" else left - quotient.times(right.constant)
                if operator == "%":
                    return self.ranges.symbol(1 - right.constant, right.constant - 1)
        return self.anything(kind)

    def quotient(self, left: Form, divisor: int) -> Form:
        """A symbol for the quotient of a number that is at least 0."""
        if (left, divisor) not in self.quotients:
            low, high = self.ranges.range(left)
            found = self.ranges.symbol(max(low, 0) // divisor, high // divisor)
            self.quotients[left, divisor] = found
        quotient = self.quotients[left, divisor]
        rest = left - quotient.times(divisor)
        self.ranges.learn(rest.times(-1), rest - Form(divisor - 1))
        return quotient

    def identity(self, expression: BuiltInComponent) -> Form:
        axis = expression.axis
        if axis == 2:
            return Form(0)
        group, local = self.group[axis], self.local[axis]
        if expression.built_in is BuiltIn.WORK_GROUP_ID:
            return group
        if expression.built_in is BuiltIn.LOCAL_INVOCATION_ID:
            return local
        return self.fitted(group.times(self.kernel.local_size[axis]) + local, Type.UINT)

    def fitted(self, form: Form, kind: Type) -> Form:
        """The form as a number of 32 bits, which may have wrapped around."""
        if self.exactly:
            return form
        if len(form.terms) > MOST_TERMS:
            form = self.ranges.symbol(*self.ranges.range(form))
        low, high = _RANGES[kind]
        least, most = self.ranges.range(form)
        if least < low or most > high:
            most = self.ranges.most(form)
            least = -self.ranges.most(form.times(-1))
        window = (least - low) // _WRAP
        if (most - low) // _WRAP == window:
            return form - Form(window * _WRAP) if window else form
        return self.anything(kind)

    def anything(self, kind: Type) -> Form:
        """Any number of a type."""
        return self.ranges.symbol(*_RANGES[kind])


def _comparison(operator: str, left: Form, right: Form) -> _Facts:
    less, more, one = left - right, right - left, Form(1)
    facts = {
        "<": _Facts((less + one,), (more,)),
        "<=": _Facts((less,), (more + one,)),
        ">": _Facts((more + one,), (less,)),
        ">=": _Facts((more,), (less + one,)),
        "==": _Facts((less, more), ()),
        "!=": _Facts((), (less, more)),
    }
    return facts.get(operator, _UNKNOWN)


def _conjuncts(condition: Expression) -> Iterator[Expression]:
    """The conditions that `&&` joins."""
    if isinstance(condition, Binary) and condition.operator == "&&":
        yield from _conjuncts(condition.left)
        yield from _conjuncts(condition.right)
    else:
        yield condition


def _sums(expression: Expression) -> Iterator[Expression]:
    """A sum and all that it is made of."""
    yield expression
    match expression:
        case Binary(left=left, right=right):
            yield from _sums(left)
            yield from _sums(right)
        case Unary(operand=operand) | Convert(operand=operand):
            yield from _sums(operand)


def _is_sum(expression: Expression) -> bool:
    """Whether a number is made of variables, uniforms and literals by sums and products alone."""
    match expression:
        case Literal() | Variable() | Uniform() | BuiltInComponent():
            return True
        case Unary(operand=operand):
            return _is_sum(operand)
        case Convert(operand=operand):
            return operand.type.is_integer and _is_sum(operand)
        case Binary(operator="+" | "-" | "*", left=left, right=right):
            return _is_sum(left) and _is_sum(right)
    return False


def _is_plain(expression: Expression, changed: set[str]) -> bool:
    """Whether it is such a number, and no variable in it changes."""
    return _is_sum(expression) and not any(
        isinstance(each, Variable) and each.name in changed for each in _sums(expression)
    )


def _assigned(statements: Iterable[Statement]) -> Iterator[str]:
    """The private variables that statements assign or declare, nested ones included."""
    for statement in statements:
        match statement:
            case Declare(variable=variable) | Assign(target=Variable() as variable):
                yield variable.name
            case If(then=then, otherwise=otherwise):
                yield from _assigned(then + otherwise)
            case For(start=start, step=step, body=body):
                yield from _assigned(start + step + body)
