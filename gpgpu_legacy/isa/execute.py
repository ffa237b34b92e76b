"""The one place where programs are executed, on whatever values: numbers, forms, expressions.

An instruction fetches its sources with their swizzles and signs, operates as in the opcode's row,
rounds and saturates, and stores the components that its write mask lets through. A Domain defines
the values, and where registers keep them. One domain is below: its values are the components of
temporaries that a result depends on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import lru_cache, partial, reduce
from operator import or_
from typing import Any, Generic, TypeVar

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.opcodes import RELATIONS, Form, Opcode, Symbol
from gpgpu_legacy.isa.program import (
    CONDITION,
    IDENTITY,
    Body,
    Branch,
    CodeTest,
    DestinationRegister,
    Instruction,
    Numbered,
    Program,
    Register,
    Repetition,
    Selector,
    Src,
    Temporary,
    TextureSource,
)

V = TypeVar("V")

ALL = (0, 1, 2, 3)

Components = tuple[int, ...]
"""Components of a register, each 0 to 3."""


MOST_TRIPS = 255
"""The trips that NV_fragment_program2 promises of a loop (MAX_PROGRAM_LOOP_COUNT_NV)."""


def trips_of(count: float) -> int:
    """The trips of a loop whose source is that number."""
    return int(min(count, MOST_TRIPS)) if count >= 1 else 0


Walk = Callable[[], None]
"""Executes a part of a program."""


class Domain(ABC, Generic[V]):
    """The values that a program is executed on.

    A value holds the components that are read, computed or stored together: one, unless `groups`
    gives more.
    """

    @abstractmethod
    def constant(self, number: float) -> V:
        """The 0 or the 1 that an extended swizzle selects."""

    @abstractmethod
    def read(self, register: Register, components: Components, *, coordinate: bool) -> V:
        """Components of a register, in this order.

        A destination is read to keep what a test masks. coordinate: whether a texture unit reads
        them; it takes an attribute as it is interpolated.
        """

    @abstractmethod
    def store(self, register: DestinationRegister, components: Components, value: V) -> None:
        """Put a value into components of a register."""

    @abstractmethod
    def look_up(
        self, source: TextureSource, coordinates: Sequence[Any], components: Components
    ) -> dict[Components, V]:
        """The wanted components of a texel, by groups. coordinates: what `evaluate` gives."""

    @abstractmethod
    def discard(self, condition: Any) -> None:
        """Discard the fragments for which a KIL's condition holds."""

    def in_quad(self, fetched: Callable[[], V]) -> Sequence[V]:
        """The values of `fetched` at the fragments (0, 0), (1, 0) and (0, 1) of the quad."""
        raise NotImplementedError

    def leave(self, condition: Any) -> None:
        """Leave the innermost loop where a BRK's condition holds."""
        raise NotImplementedError

    def branch(self, branch: Branch, then: Walk, otherwise: Walk) -> None:
        """Execute the side of a branch that its test chooses. then, otherwise: walk the sides."""
        raise NotImplementedError

    def loop(self, loop: Repetition, body: Walk) -> None:
        """Execute a loop, as often as its source says. body: walks one trip."""
        raise NotImplementedError

    @abstractmethod
    def saturated(self, value: V) -> V:
        """The value clamped to [0, 1]."""

    def rounded(self, value: V) -> V:
        """A result, rounded to the number format of the registers."""
        return value

    def step(self, number: int, instruction: Instruction) -> None:
        """Execute one instruction of a program, its `number` counted from 0."""
        execute_instruction(instruction, self)

    def groups(self, components: Components) -> Iterable[Components]:
        """The components that an instruction computes together; by default each by itself."""
        return [(component,) for component in components]

    def compose(self, values: Sequence[V]) -> V:
        """Join values of one component each into one value. Needed if `groups` has larger ones."""
        raise NotImplementedError

    def replicated(self, value: V, components: Components) -> dict[Components, V]:
        """A value of one component as the value of several."""
        return {(component,): value for component in components}

    def evaluate(self, row: Opcode, sources: Sequence[Any]) -> Any:
        """The result of the opcode's definition for its sources."""
        return row.evaluate(*sources)


class Event(Enum):
    """What a run counts of an instruction: fragments, or squares of fragments of a pass.

    EXECUTED and the events after it are counted only in programs with branches, and as if a KIL
    discarded none. IN_QUADS, IN_BLOCKS: the fragments of squares, with sides of 2 and of BLOCK, in
    which any fragment executes the instruction. TAKEN: the fragments for which the test of an IF or
    a BRK holds. QUADS, BLOCKS: the squares in which a test is executed. In divergent ones it holds
    for some fragments and not for all.
    """

    UNDEFINED = "undefined result"
    EXECUTED = "executed"
    IN_QUADS = "in quads"
    IN_BLOCKS = "in blocks"
    TAKEN = "taken"
    QUADS = "quads"
    DIVERGENT_QUADS = "divergent quads"
    BLOCKS = "blocks"
    DIVERGENT_BLOCKS = "divergent blocks"


BLOCK = 32
"""The side of a square of fragments that branch together: about 1000 on a GeForce 6 or 7."""

Tally = Counter[tuple[Program, int, Event]]
"""Counts by program, number of the instruction in it, and event."""


@lru_cache(maxsize=256)
def undefined_for_some(program: Program) -> tuple[Numbered, ...]:
    """The instructions whose result is undefined for some sources, in order."""
    return tuple(n for n in enumerate(program.instructions) if n[1].opcode.undefined)


def execute(program: Program, domain: Domain[Any]) -> None:
    """Execute a program. The domain's `step` executes each instruction."""
    _walk(program.body, domain)


def _walk(body: Body, domain: Domain[Any]) -> None:
    for part in body:
        if type(part) is tuple:
            domain.step(*part)
        elif isinstance(part, Branch):
            sides = (partial(_walk, side, domain) for side in (part.then, part.otherwise))
            domain.branch(part, *sides)
        elif isinstance(part, Repetition):
            domain.loop(part, partial(_walk, part.body, domain))


def execute_instruction(
    instruction: Instruction, domain: Domain[Any], components: Components | None = None
) -> None:
    """Execute one instruction.

    components: the wanted components of the result; by default all in the write mask.
    """
    row, dst, test = instruction.opcode, instruction.dst, instruction.test
    if row.form is Form.KILL and test is None:
        domain.discard(domain.evaluate(row, [vector(src, domain) for src in instruction.srcs]))
    elif dst is None:
        if test is not None:
            end = domain.discard if row.form is Form.KILL else domain.leave
            end(holds(test, domain))
    elif wanted := dst.components if components is None else components:
        results = _results(row, instruction, domain, wanted)
        codes = {} if test is None else {group: fetch(test.src, group, domain) for group in results}

        def store(register: DestinationRegister, group: Components, result: Any) -> None:
            """Store a result, under the test if there is one."""
            if test is not None:
                before = domain.read(register, group, coordinate=False)
                result = RELATIONS[test.relation](codes[group], 0.0, result, before)
            domain.store(register, group, result)

        for group, value in results.items():
            result = domain.rounded(value)
            store(dst.register, group, domain.saturated(result) if instruction.saturate else result)
            if instruction.sets_condition:
                store(CONDITION, group, domain.read(dst.register, group, coordinate=False))


def holds(test: CodeTest, domain: Domain[Any]) -> Any:
    """Whether a test holds for any component of its swizzle."""
    swizzle = test.src.swizzle
    firsts = sorted({swizzle.index(selector) for selector in swizzle})
    codes = [fetch(test.src, (c,), domain) for c in firsts]
    one, zero = domain.constant(1.0), domain.constant(0.0)
    chosen = (RELATIONS[test.relation](code, 0.0, one, zero) for code in codes)
    return reduce(or_, (choice > 0.0 for choice in chosen))


def _results(
    row: Opcode, instruction: Instruction, domain: Domain[V], components: Components
) -> dict[Components, V]:
    """The result's components, by groups; all are computed before any is stored."""
    srcs = instruction.srcs
    match row.form:
        case Form.COMPONENTWISE:
            return {
                group: domain.evaluate(row, [fetch(src, group, domain) for src in srcs])
                for group in domain.groups(components)
            }
        case Form.DERIVATIVE:
            return {
                group: domain.evaluate(row, domain.in_quad(partial(fetch, srcs[0], group, domain)))
                for group in domain.groups(components)
            }
        case Form.SCALAR:
            value = domain.evaluate(row, [fetch(src, (0,), domain) for src in srcs])
            return domain.replicated(value, components)
        case Form.SAMPLE:
            coordinates = domain.evaluate(row, [vector(s, domain, coordinate=True) for s in srcs])
            assert instruction.texture is not None
            return domain.look_up(instruction.texture, coordinates, components)
    values = domain.evaluate(row, [vector(src, domain) for src in srcs])
    if len({id(values[c]) for c in components}) == 1:
        return domain.replicated(values[components[0]], components)
    return {
        group: values[group[0]] if len(group) == 1 else domain.compose([values[c] for c in group])
        for group in domain.groups(components)
    }


def vector(src: Src, domain: Domain[V], *, coordinate: bool = False) -> list[V]:
    """The four components of a source, each by itself."""
    return [fetch(src, (c,), domain, coordinate=coordinate) for c in ALL]


def fetch(src: Src, components: Components, domain: Domain[V], *, coordinate: bool = False) -> V:
    """Components of a source, under its swizzle and its sign."""
    selectors, negative = [src.swizzle[c] for c in components], src.negate[components[0]]
    one_sign = all(src.negate[c] is negative for c in components)
    if len(components) > 1 and not (one_sign and _REGISTER.issuperset(selectors)):
        return domain.compose([fetch(src, (c,), domain, coordinate=coordinate) for c in components])
    selector = selectors[0]
    if selector is Selector.ZERO or selector is Selector.ONE:
        value = domain.constant(float(selector is Selector.ONE))
    else:
        indices = tuple([selector.value for selector in selectors])
        value = domain.read(src.register, indices, coordinate=coordinate)
    if src.absolute:
        value = abs(value)  # type: ignore[arg-type]
    return -value if negative else value  # type: ignore[operator]


_REGISTER = {*IDENTITY}
"""The selectors of a component of the register."""


# Dependences --------------------------------------------------------------------------------------

Parts = frozenset[tuple[str, int]]
"""Components of temporaries: the register's name and 0 to 3."""


@lru_cache(maxsize=1024)
def parts_read(instruction: Instruction) -> Mapping[int, Parts]:
    """The components of temporaries that each component of the result depends on.

    The instruction is executed on sets instead of numbers; every operation unites its operands'
    sets. So a dot product of three components does not depend on the fourth. The operand of a KIL
    and the test of a branch count for all four. A condition code that it sets is a part of the
    result.
    """
    domain = _MadeOf()
    execute_instruction(instruction, domain)
    return domain.parts


@frozen
class _Value(Symbol):
    """A value of which only the dependences are known."""

    parts: Parts

    def operate(self, name: str, operands: tuple[Any, ...]) -> _Value:
        return _united(operands)


_NOTHING = _Value(frozenset())


@lru_cache(maxsize=4096)
def _components(name: str, components: Components) -> _Value:
    return _Value(frozenset((name, c) for c in components))


def _united(values: Iterable[Any]) -> _Value:
    """The union of the values' dependences; numbers have none."""
    return _Value(_NOTHING.parts.union(*[v.parts for v in values if type(v) is _Value]))


class _MadeOf(Domain[_Value]):
    """The domain of dependences. parts: those of each component of the result."""

    def __init__(self) -> None:
        self.parts: dict[int, Parts] = {}
        self._stored: object = None

    def constant(self, number: float) -> _Value:
        return _NOTHING

    def read(self, register: Register, components: Components, *, coordinate: bool) -> _Value:
        if not isinstance(register, Temporary) or (register, components) == self._stored:
            return _NOTHING
        return _components(register.name, components)

    def store(self, register: DestinationRegister, components: Components, value: _Value) -> None:
        self.parts |= {c: self.parts.get(c, value.parts) | value.parts for c in components}
        self._stored = register, components

    def look_up(
        self, source: TextureSource, coordinates: Sequence[Any], components: Components
    ) -> dict[Components, _Value]:
        target, bias = source.target, coordinates[3]
        slopes = (
            v for given in coordinates[4:] for s in given for v in s[: target.kind.coordinates]
        )
        return {components: _united([*coordinates[: target.coordinates], bias, *slopes])}

    def discard(self, condition: _Value) -> None:
        self.parts = dict.fromkeys(ALL, condition.parts)

    leave = discard

    def in_quad(self, fetched: Callable[[], _Value]) -> Sequence[_Value]:
        return [fetched()] * 3

    def saturated(self, value: _Value) -> _Value:
        return value

    def rounded(self, value: Any) -> _Value:
        return value if type(value) is _Value else _NOTHING

    def compose(self, values: Sequence[Any]) -> _Value:
        return _united(values)

    def replicated(self, value: _Value, components: Components) -> dict[Components, _Value]:
        return {components: value}
