"""Lowers fragment programs to statements of the IR, by executing them on expressions.

The rasteriser's work becomes statements, too: attributes at the fragment's centre. The
framebuffer's work is in framebuffer.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import product, starmap
from typing import Any

import numpy as np

from gpgpu_legacy.isa.arithmetic import FP32, Arithmetic
from gpgpu_legacy.isa.execute import (
    ALL,
    MOST_TRIPS,
    Domain,
    Walk,
    execute_instruction,
    fetch,
    holds,
    trips_of,
    vector,
)
from gpgpu_legacy.isa.expressions import (
    Composite,
    Constant,
    Expression,
    Given,
    Operation,
    Place,
    PlanePart,
    Read,
    Role,
    Variable,
    all_of,
    compose,
    constant,
    expression,
    integer,
    operation,
    read,
)
from gpgpu_legacy.isa.opcodes import Form
from gpgpu_legacy.isa.program import (
    CONDITION,
    Attribute,
    AttributeKind,
    Branch,
    DestinationRegister,
    Instruction,
    Parameter,
    ParameterSpace,
    Program,
    Register,
    Repetition,
    ResultRegister,
    Temporary,
    TextureSource,
)
from gpgpu_legacy.isa.statements import (
    Assign,
    Break,
    Call,
    Collector,
    Dead,
    Declare,
    Discard,
    For,
    Function,
    If,
    Statement,
    all_expressions,
    statements_below,
    uncontracted,
)
from gpgpu_legacy.isa.types import (
    ALONG_X,
    ALONG_Y,
    EVERYWHERE,
    FLOAT,
    INT,
    NOWHERE,
    VEC4,
    Axes,
    Components,
    Operator,
    union,
)
from gpgpu_legacy.plan.interpolation import interpolated, quad_centre, window_position

PART = "part"
"""The name of variables for values that an instruction uses several times."""

KILLED = Variable("killed", FLOAT)
"""For targets without a discard statement: 1 if the fragment is dead, else 0."""

LOD = Variable("lod", FLOAT)
"""The level of detail that a lookup takes from its quad, without biases."""

CORNERS = (1, 2, 3)
"""The numbers of the fragments (0, 0), (1, 0) and (0, 1) of the fragment's own quad."""
BESIDE = {1: (0.0, 0.0), 2: (1.0, 0.0), 3: (0.0, 1.0)}


_COPY = Temporary("0")
"""A temporary that no program can declare."""


class Lowering(Collector, Domain[Expression]):
    """Executes instructions, and collects the resulting statements.

    If several fragments are computed together, branches are masks. Both sides are executed, and a
    mask decides what is stored: a variable that is 1 where the fragment is active, else 0. In a
    quad each corner has a mask of its own. A loop ends with a Break when all masks are 0.
    """

    masks = False
    """Whether branches are masks."""
    places: Sequence[int] = (0,)
    """The fragment itself, and the corners of its quad that have masks."""
    _masks: tuple[Variable, ...] = ()
    """The masks of the blocks around, from the innermost loop on."""

    def __init__(
        self, arithmetic: Arithmetic = FP32, *, discards: bool = True, draw: int = 0
    ) -> None:
        """discards: whether the target has a discard statement. draw: the number of the pass."""
        self._arithmetic, self._discards, self._draw = arithmetic, discards, draw
        self._corner = 0
        self._parts, self._loops = 0, 0
        self._instruction: Instruction | None = None
        self.statements = []

    # Statements

    def assign(self, variable: Variable, components: Components, value: Expression) -> None:
        """Add an assignment. Repeated subexpressions of the value are computed once."""
        value = self.with_names(value)
        self.statements.append(Assign(variable, components, value, self._instruction))

    def with_names(self, value: Expression) -> Expression:
        """Replace each operation that a value contains several times by a variable."""
        if not value.operands:
            return value
        uses: dict[int, int] = {}
        waiting, repeats = [value], False
        while waiting:
            part = waiting.pop()
            uses[id(part)] = count = uses.get(id(part), 0) + 1
            if count == 1:
                waiting += {id(operand): operand for operand in part.operands}.values()
            elif isinstance(part, Operation):
                repeats = True
        if not repeats:
            return value
        names: dict[int, Expression] = {}

        def named(part: Expression) -> Expression:
            if id(part) in names:
                return names[id(part)]
            whole = part
            if isinstance(part, Composite):
                whole = part.with_operands(tuple(map(named, part.operands)))
            if uses[id(part)] > 1 and isinstance(part, Operation):
                variable = Variable(PART, part.type, number=self._parts)
                self._parts += 1
                self.statements.append(Declare(variable, whole))
                whole = read(variable, axes=part.axes)
            names[id(part)] = whole
            return whole

        return named(value)

    def step(self, number: int, instruction: Instruction) -> None:
        self.instruction(instruction, instruction.components)

    def instruction(
        self,
        instruction: Instruction,
        components: Components,
        corners: Components = (),
        lod: Function | None = None,
    ) -> None:
        """Execute an instruction whose result needs these components.

        corners: the components that are needed in the corners of the quad. lod: the function from
        the coordinates in the corners to the level of detail, if the instruction needs one.
        """
        row = instruction.opcode
        if row.form is Form.DERIVATIVE and instruction.srcs[0].register == instruction.register:
            instruction = self._of_a_copy(instruction)
        if lod is not None and not row.gives_lod and (components or corners):
            count = len(lod.parameters) // len(CORNERS)
            coordinates = list[Expression]()
            for _ in self._each(CORNERS):
                source = vector(instruction.srcs[0], self, coordinate=True)
                place = self.evaluate(row, [source])
                coordinates += map(expression, place[:count])
            self.assign(LOD, (0,), Call(tuple(coordinates), lod))
        for _ in self._each(CORNERS if corners else ()):
            execute_instruction(instruction, self, corners)
        if not components:
            self.statements += [] if corners else [Dead(instruction)]
            return
        self._instruction = instruction
        execute_instruction(instruction, self, components)
        self._instruction = None

    def _of_a_copy(self, instruction: Instruction) -> Instruction:
        """A derivative of a copy of its source, since its result overwrites the source."""
        [src] = instruction.srcs
        for corner in self._each(CORNERS):
            value = self.read(src.register, ALL, coordinate=False)
            self.assign(temporary_variable(_COPY.name, corner), ALL, value)
        return replace(instruction, srcs=(replace(src, register=_COPY),))

    # The domain of execute

    def constant(self, number: float) -> Expression:
        return constant(number)

    def read(self, register: Register, components: Components, *, coordinate: bool) -> Expression:
        if isinstance(register, Temporary | ResultRegister):
            return self.held(_destination(register, self._corner), components)
        if isinstance(register, Attribute):
            variable = attribute_variable(register, self._corner)
            axes = union(attribute_axes(register.kind, c) for c in components)
            value: Expression = Read(variable, components, axes)
            return value if coordinate else self.rounded(value)
        if register.space is ParameterSpace.CONSTANT:
            with np.errstate(over="ignore"):
                numbers = self._arithmetic.round(np.array(register.value, np.float32)).tolist()
            return compose(numbers[c] for c in components)
        unnamed = Parameter(register.space, register.index, binding=register.binding)
        return self.rounded(Given(unnamed, components, draw=self._draw))

    def held(self, variable: Variable, components: Components = (0,)) -> Read:
        """Components of a variable, as they vary here."""
        return Read(variable, components, self.axes_of(variable, components))

    def axes_of(self, _variable: Variable, _components: Components) -> Axes:
        """The axes along which components of a variable vary here; by default both."""
        return EVERYWHERE

    def store(
        self, register: DestinationRegister, components: Components, value: Expression
    ) -> None:
        if self._masks:
            before = self.read(register, components, coordinate=False)
            value = operation(Operator.SELECT, self._is_set(self._masks[-1]), value, before)
        self.assign(_destination(register, self._corner), components, value)

    def look_up(
        self, source: TextureSource, coordinates: Sequence[Any], components: Components
    ) -> dict[Components, Expression]:
        return {components: self.texel(source, coordinates, components)}

    def texel(
        self, source: TextureSource, coordinates: Sequence[Any], components: Components
    ) -> Expression:
        """Components of a lookup's texel. coordinates: as the opcode's row gives them."""
        raise NotImplementedError

    def discard(self, condition: Expression) -> None:
        condition = all_of([condition, *map(self._is_set, self._masks[-1:])])
        if self._discards:
            self.statements.append(Discard(condition, self._instruction))
            return
        self.assign(KILLED, (0,), operation(Operator.SELECT, condition, 1.0, self.held(KILLED)))

    def in_quad(self, fetched: Callable[[], Expression]) -> Sequence[Expression]:
        return [fetched() for _ in self._each(CORNERS)]

    def branch(self, branch: Branch, then: Walk, otherwise: Walk) -> None:
        number, instruction = branch.head
        test, chosen = instruction.test, _flag("chosen", number)
        assert test is not None
        if not self.masks:
            condition = holds(test, self)
            self.statements.append(If(condition, *map(self.inside, (then, otherwise))))
            return
        for _ in self._each(self.places):
            self._set(chosen, holds(test, self), 1.0, 0.0)
        around = self._masks
        for mask, side in ((_flag("then", number), then), (_flag("otherwise", number), otherwise)):
            for _ in self._each(self.places):
                outer = self._here(around[-1]) if around else 1.0
                yes, no = (outer, 0.0) if side is then else (0.0, outer)
                self._set(mask, self._is_set(chosen), yes, no)
            self._masks = (*around, mask)
            side()
        self._masks = around

    def loop(self, loop: Repetition, body: Walk) -> None:
        number, instruction = loop.head
        count = fetch(instruction.srcs[0], (0,), self)
        if not self.masks:
            most = operation(Operator.SELECT, count <= float(MOST_TRIPS), count, float(MOST_TRIPS))
            trips = operation(Operator.SELECT, count >= 1.0, most, 0.0)
            self.repeat(operation(Operator.TO_INT, operation(Operator.FLOOR, trips)), body)
            return
        around, mask = self._masks, _flag("within", number)
        for _ in self._each(self.places):
            outer = self._here(around[-1]) if around else 1.0
            self._set(mask, count >= 1.0, outer, 0.0)
        trip = _flag("trips", number)
        self.assign(trip, (0,), constant(1.0))

        def one() -> None:
            self._masks = (mask,)
            body()
            self.assign(trip, (0,), self.held(trip) + 1.0)
            left = []
            for _ in self._each(self.places):
                self._set(mask, self.held(trip) <= count, self._here(mask), 0.0)
                left.append(operation(Operator.NOT, self._is_set(mask)))
            self.statements.append(If(all_of(left), (Break(),)))

        known = trips_of(count.values[0]) if isinstance(count, Constant) else MOST_TRIPS
        if known > 0:
            self.repeat(integer(known), one)
        self._masks = around

    def repeat(self, trips: Expression, body: Walk) -> None:
        """Add a loop of that many trips; `body` adds the statements of one."""
        self._loops += 1
        number = Variable("trip", INT, number=self._loops)
        first = integer(0)
        self.statements.append(For(number, first, trips, self.inside(body)))

    def leave(self, condition: Expression) -> None:
        if not self.masks:
            self.statements.append(If(condition, (Break(),)))
            return
        leaving = _flag("leaving", 0)
        self._set(leaving, condition, self._here(self._masks[-1]), 0.0)
        for mask in self._masks:
            self._set(mask, self._is_set(leaving), 0.0, self._here(mask))

    def _each(self, corners: Iterable[int]) -> Iterator[int]:
        """Yield each corner while it is the one that is executed."""
        own = self._corner
        for self._corner in corners:
            yield self._corner
        self._corner = own

    def _set(self, flag: Variable, condition: Expression, yes: Any, no: Any) -> None:
        value = operation(Operator.SELECT, condition, yes, no)
        self.assign(self._here(flag).variable, (0,), value)

    def _here(self, flag: Variable) -> Read:
        """The flag of the fragment, or of the corner that is executed."""
        return self.held(replace(flag, corner=self._corner))

    def _is_set(self, flag: Variable) -> Expression:
        return operation(Operator.GREATER, self._here(flag), 0.0)

    def saturated(self, value: Expression) -> Expression:
        return operation(Operator.SATURATE, value)

    def rounded(self, value: Expression) -> Expression:
        return rounded(value, self._arithmetic)

    def groups(self, components: Components) -> Iterable[Components]:
        return (components,)

    def compose(self, values: Sequence[Expression]) -> Expression:
        return compose(values)

    def replicated(self, value: Expression, components: Components) -> dict[Components, Expression]:
        return {components: compose([value] * len(components))}


def _flag(name: str, number: int) -> Variable:
    """A variable that is 1 or 0. number: of its instruction."""
    return Variable(name, FLOAT, number=number)


def rounded(value: Expression, arithmetic: Arithmetic) -> Expression:
    """Round a value to the registers' format of an arithmetic."""
    return operation(Operator.ROUND, value) if arithmetic.rounds else value


# Registers -------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def temporary_variable(name: str, corner: int = 0) -> Variable:
    """A temporary register, of the fragment itself or of a corner of its quad."""
    return Variable(name, VEC4, Role.TEMPORARY, corner=corner)


@cache
def result_variable(number: int) -> Variable:
    """The result register for target `number`; number 0 also serves for all targets."""
    return Variable("color", VEC4, Role.RESULT, number)


@cache
def attribute_variable(attribute: Attribute, corner: int = 0) -> Variable:
    """An attribute at the fragment, or at a corner of its quad."""
    return Variable(attribute.kind.value, VEC4, Role.ATTRIBUTE, attribute.index, corner)


def attribute_of(variable: Variable) -> Attribute:
    """The attribute that a variable of attribute_variable holds."""
    return Attribute(AttributeKind(variable.name), variable.number)


def _destination(register: DestinationRegister, corner: int) -> Variable:
    if isinstance(register, Temporary):
        return temporary_variable(register.name, corner)
    return Variable(register.kind.value, VEC4, Role.RESULT, register.index)


def cleared_registers(
    program: Program, targets: int, statements: Sequence[Statement]
) -> dict[Variable, Expression]:
    """The registers and flags that statements read or assign, with their initial value 0."""
    read = {value.variable for value in all_expressions(statements) if isinstance(value, Read)}
    assigned = [s.variable for s in statements_below(statements) if isinstance(s, Assign)]
    read.update(assigned)
    needed = targets if program.has_separate_colors else 1  # whether they are written or not
    colours = map(result_variable, range(max(program.color_outputs, needed)))
    names = (*program.temporaries, CONDITION.name, _COPY.name)
    temporaries = starmap(temporary_variable, product(names, (0, *CORNERS)))
    flags = (v for v in assigned if v.type is FLOAT and v.role is Role.LOCAL)
    registers = (*temporaries, *colours, KILLED, LOD, *flags)
    return {r: compose([0.0] * r.type.width) for r in registers if r in read}


def attributes_read(statements: Iterable[Statement]) -> dict[Variable, Components]:
    """The attributes that statements read, in order, with the components read."""
    read: dict[Variable, set[int]] = {}
    for value in all_expressions(statements):
        if isinstance(value, Read) and value.variable.role is Role.ATTRIBUTE:
            read.setdefault(value.variable, set()).update(value.components)
    return {variable: tuple(sorted(components)) for variable, components in read.items()}


# Attributes ------------------------------------------------------------------------------------


def attribute_axes(kind: AttributeKind, index: int) -> Axes:
    """The axes along which a component of an attribute varies."""
    if kind is AttributeKind.POSITION:
        return (ALONG_X, ALONG_Y, NOWHERE, NOWHERE)[index]
    return EVERYWHERE


def centre(axis: int, corner: int = 0, draw: int = 0) -> Expression:
    """The centre of the fragment, or of a corner of its quad, along an axis.

    It counts from the rectangle's lower left.
    """
    own = Given(Place.CENTRE, (axis,))
    if not corner:
        return own
    origin = Given(Place.ORIGIN, (axis,), draw=draw)
    there: Expression = quad_centre(own, origin, BESIDE[corner][axis])
    return there


def attribute_value(variable: Variable, wanted: Components = ALL, draw: int = 0) -> Expression:
    """Components of an attribute at the fragment: base + dx·x + dy·y, in that order.

    Each operation is rounded by itself.
    """
    attribute = attribute_of(variable)
    x, y = (centre(axis, variable.corner, draw) for axis in range(2))
    if attribute.kind is AttributeKind.POSITION:
        left, bottom = (Given(Place.ORIGIN, (axis,), draw=draw) for axis in range(2))
        position = window_position(x, y, (left, bottom))
        return uncontracted(compose(position[c] for c in wanted))
    base, dx, dy = (Given(PlanePart(attribute, n), wanted, draw=draw) for n in range(3))
    return uncontracted(interpolated(base, dx, dy, x, y))
