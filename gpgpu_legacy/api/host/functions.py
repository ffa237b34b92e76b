"""Statements and functions of the host's C, as the lines of a Python module."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from gpgpu_legacy.api.host.expressions import ExpressionCompiler
from gpgpu_legacy.api.host.library import library_text
from gpgpu_legacy.api.host.memory import HostError
from gpgpu_legacy.api.host.values import (
    INT,
    LONG,
    VOID,
    CArray,
    CFunction,
    CScalar,
    CStruct,
    Lvalue,
    StreamType,
    Type,
    Value,
    added,
    assigned,
    converted,
    fresh,
    literal,
    record,
    settled,
    usual,
)
from gpgpu_legacy.errors import hint
from gpgpu_legacy.isa.program import Span
from gpgpu_legacy.languages.c import syntax as c


class Compiler(ExpressionCompiler):
    """Compiles a program to `lines` of Python, each with the place of its statement in C.

    The names in Python are numbered, so that no name of the program has a meaning there.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.lines: list[tuple[str, Span]] = []
        self._started: list[tuple[str, Span]] = []  # sets static and global variables
        self._out, self._depth, self._place_of = self._started, 1, Span(1, 1)
        self._loops: list[c.For | str] = []  # str: the variable of a switch or of labels
        self._labels: dict[str, str] = {}  # the code of a jump to each

    def compile(self) -> None:
        """Compile all of the program, and the functions of the library that it uses."""
        library = self._items(library_text(), is_own=False)
        scopes, functions = [*self.scopes], {**self.functions}
        for f in self._items(self.unit.items).values():
            self.at(f, self._function)
        self.main = self.functions.get("main")
        self.scopes, self.functions = scopes, functions  # a program's names are not the library's
        while named := library.keys() & self.named:
            for name in sorted(named):
                self._function(library.pop(name))
        self.emit("pass")
        self.lines += [("if 1:", self._place_of), *self._started]

    def _items(self, items: Sequence[c.Item], *, is_own: bool = True) -> dict[str, c.Function]:
        """Declare the items of a text; returns its functions with bodies, by name."""
        self.scopes.append({})
        self.types |= {s.name: CStruct(s.name) for s in items if isinstance(s, c.Struct)}
        bodies = {
            f.name: f
            for f in items
            if isinstance(f, c.Function) and f.body and f.name not in self.kernels
        }
        for item in items:
            if not isinstance(item, c.Function):
                self.statement(item)
            elif item.name in bodies or not is_own:
                of = self.at(item, lambda f: self.function(f.type, f.pointers, f.parameters))
                code = fresh() if item.name in bodies else f"{item.name}_"
                self.functions[item.name] = Lvalue(code, of)
        return bodies

    def emit(self, line: str) -> None:
        """Add a line of Python."""
        self._out.append(("    " * self._depth + line, self._place_of))

    @contextmanager
    def indented(self, head: str) -> Iterator[None]:
        """A scope of names, indented below a head."""
        self.emit(head)
        self._depth += 1
        self.scopes.append({})
        yield
        self.emit("pass")
        self.scopes.pop()
        self._depth -= 1

    def _function(self, f: c.Function) -> None:
        assert f.body is not None
        place = self.functions[f.name]
        of = place.type
        assert isinstance(of, CFunction)
        if f.name == "main" and not re.fullmatch("[bBhHiIqQ]( i( Q){0,2})?", of.signature):
            raise HostError("main takes nothing, or int and char **, and returns an int")
        self._out, self.objects, self._place_of = [], [], f.at
        self._taken = {*_taken(f.body)}
        self._result = of.result
        names = [fresh() for _ in f.parameters]
        with self.indented("try:"):
            for code, d, kind in zip(names, f.parameters, of.parameters, strict=True):
                self.scopes[-1][d.name] = Lvalue(code, kind, is_local=True)
                is_taken = d.name in self._taken and not isinstance(kind, StreamType)
                if is_taken or isinstance(kind, CStruct):
                    self.emit(assigned(self._variable(d.name, kind), Value(code, kind)))
            self._statements(f.body.statements)
            self._return(c.Return())
        given = (
            f"{'*' * (kind == VOID)}{name}" for name, kind in zip(names, of.parameters, strict=True)
        )
        head = [f"def {place.code}({', '.join(given)}):", "    next(steps)"]
        head += [f"    {one} = 0" for one in self.objects]
        drop = f"drop({', '.join(self.objects)})" if self.objects else "pass"
        tail = ["    finally:", f"        {drop}"]
        self.lines += [(line, f.at) for line in head] + self._out + [(line, f.at) for line in tail]
        self._out, self.objects = self._started, None

    # Declarations ---------------------------------------------------------------------------------

    def _declare(self, s: c.Declare) -> None:
        for d in s.declarations:
            self.at(d, self._declaration)

    def _declaration(self, d: c.Declaration) -> None:
        if d.stream is not None and not d.pointers:
            self._stream(d)
            return
        kind = self.declared(d)
        if d.dimensions[:1] == (None,) and isinstance(kind, CArray):
            match d.value:
                case c.String(value=text):
                    kind = CArray(kind.element, len(text) + 1)
                case c.Braces(items=items):
                    kind = CArray(kind.element, len(items))
                case _:  # T (*p)[n]
                    kind = self.parameter(d)
        if self.objects is None or "static" in d.type.qualifiers:
            before = self._out, self._depth, self.objects
            self._out, self._depth, self.objects = self._started, 1, None
            self.scopes[-1][d.name] = place = Lvalue(self.new(kind), kind)
            self._initialised(place, d)
            self._out, self._depth, self.objects = before
            return
        place = self._variable(d.name, kind)
        if d.value is None and place.is_local:
            self.emit(f"{place.code} = 0")
        self._initialised(place, d)

    def _variable(self, name: str, kind: Type) -> Lvalue:
        """A new variable of a function: Python's own, or an object in memory."""
        assert self.objects is not None
        place: Lvalue = Lvalue(fresh(), kind, is_local=True)
        if name in self._taken or isinstance(kind, CArray | CStruct):
            code = self.new(kind)
            self.emit(code)
            place = Lvalue(self.objects[-1], kind)
        self.scopes[-1][name] = place
        return place

    def _stream(self, d: c.Declaration) -> None:
        if "vout" in d.type.qualifiers:
            raise HostError("streams of variable length (vout) are not supported")
        name, kind = fresh(), repr(d.type.name)
        lengths = (settled(converted(self.value(one), LONG)) for one in d.stream or ())
        extents = f"({', '.join(lengths)},)"
        code = f"stream({d.name!r}, {kind}, {extents})"
        if "iter" in d.type.qualifiers:
            if not isinstance(d.value, c.Call) or len(d.value.arguments) != 2:
                raise HostError(f"an iterator needs two ends, as in {d.name} = iter(0, 10)")
            ends = (self.plain(self.value(one)) for one in d.value.arguments)
            code = f"iterator({kind}, {extents}, {', '.join(ends)})"
        self.emit(f"{name} = {code}")
        self.scopes[-1][d.name] = Lvalue(name, StreamType(d.type.name), is_local=True)

    def _initialised(self, place: Lvalue, d: c.Declaration) -> None:
        known = d.value and self._initialise(place, deque([d.value]), is_inner=False)
        if "const" in d.type.qualifiers:
            self.scopes[-1][d.name] = replace(place, constant=known)

    def _initialise(self, place: Lvalue, items: deque[Any], *, is_inner: bool = True) -> Any:
        """Store the next initial value, or one for each part of an array or a struct.

        Returns the value if it is a known number. is_inner: whether the place is a part in braces,
        so that its own braces may be left out.
        """
        kind, e = place.type, items.popleft()
        parts: Iterable[tuple[Type, int]] = ()
        if isinstance(kind, CArray):
            size = kind.element.size
            parts = ((kind.element, n * size) for n in range(kind.count))
        elif isinstance(kind, CStruct):
            parts = kind.fields.values()
        if isinstance(e, c.Braces):
            items = deque((*e.items, c.Number(0)))
            if not parts:
                return self._initialise(place, items)
            self.emit(f"fill({place.code}, 0, {kind.size})")
        elif isinstance(e, c.String) and isinstance(kind, CArray):
            self.emit(f"fill({place.code}, 0, {kind.size})")
            self.emit(f"write({(e.value + bytes(1))[: kind.count]!r}, {place.code})")
            return None
        elif parts and is_inner and self.resolved(e).type != kind:
            items.appendleft(e)
        else:
            value = converted(self.value(e), kind)
            self.emit(assigned(place, value))
            return value.constant
        for part, offset in parts:
            if not items:
                break
            self._initialise(Lvalue(added(place.code, offset), part), items)
        return None

    def _struct(self, s: c.Struct) -> None:
        struct = self.types.get(s.name)
        if not isinstance(struct, CStruct) or struct.fields:
            self.types[s.name] = struct = CStruct(s.name)
        self.sized(record(struct, {d.name: self.declared(d) for d in s.fields}))

    def _typedef(self, s: c.Typedef) -> None:
        d = s.declaration
        self.types[d.name] = self.declared(d)

    def _enumeration(self, s: c.Enumeration) -> None:
        self.types[s.name], number = INT, -1
        for name, value in s.items:
            number = number + 1 if value is None else self.constant(value)
            self.scopes[-1][name] = literal(number, LONG if number >> 31 not in {0, -1} else INT)

    # Statements -----------------------------------------------------------------------------------

    def statement(self, s: c.Statement | c.Item) -> None:
        """Emit a statement or a declaration."""
        self._place_of = s.at
        self.at(s, getattr(self, f"_{type(s).__name__.lower()}", self._jump))

    def _block(self, s: c.Statement, head: str = "if 1:") -> None:
        with self.indented(head):
            self._statements(s.statements if isinstance(s, c.Block) else (s,))

    def _statements(self, statements: Sequence[c.Statement]) -> None:
        labels = [s.label for s in statements if isinstance(s, c.Target)]
        if not labels:
            for s in statements:
                self.statement(s)
            return
        entry, outer = fresh(), (self._loops, self._labels)
        self._loops = [*self._loops, entry] if self._loops else []
        jumps = {label: f"raise JumpSignal({entry!r}, {n})" for n, label in enumerate(labels, 1)}
        self._labels = self._labels | jumps
        self.emit(f"{entry} = 0")
        with self.indented("for _ in steps:"):
            with self.indented("try:"):
                self._entered(entry, statements, 0)
                self.emit("break")
            with self.indented("except JumpSignal as jump:"):
                self.emit(f"if jump.args[0] != {entry!r}: raise")
                self.emit(f"{entry} = jump.args[1]")
                self.emit("for _ in once * 9: next(steps)")
        self.emit("else: next(steps)")
        self._loops, self._labels = outer
        self._passed_on(entry, "break", "continue")

    def _entered(self, entry: str, body: Sequence[c.Statement], number: int) -> None:
        """Emit statements; at run time, those before the label of number `entry` are skipped.

        number: the number of the last label before the statements.
        """
        for s in body:
            if isinstance(s, c.Label | c.Target):
                number += 1
                continue
            self.emit(f"if {entry} <= {number}:")
            self._depth += 1
            self.statement(s)
            self.emit("pass")
            self._depth -= 1

    def _passed_on(self, entry: str, *kinds: str) -> None:
        """Emit each kind of jump again, for when it has left the switch or labels of `entry`."""
        for kind in kinds if self._loops else ():
            with self.indented(f"if {entry} == {kind!r}:"):
                self._jump(c.Jump(kind))

    def _evaluate(self, s: c.Evaluate) -> None:
        e = s.expression
        if isinstance(e, c.Postfix):
            e = e.assignment
        if isinstance(e, c.Assign):
            self.emit(assigned(*self.at(e, self.assignment)))
        elif e is not None:
            self.emit(settled(self.value(e)))

    def _if(self, s: c.If) -> None:
        self._block(s.yes, f"if {self.truth(s.condition).code}:")
        if s.no is not None:
            self._block(s.no, "else:")

    def _for(self, s: c.For) -> None:
        with self.indented("if 1:"):
            if s.start is not None:
                self.statement(s.start)
            with self.indented("for _ in steps:"):
                if s.tests_first:
                    self._test(s)
                self._loops.append(s)
                self._block(s.body)
                self._continue(s)
                self._loops.pop()
            self.emit("else: next(steps)")

    def _test(self, s: c.For) -> None:
        if s.condition is not None:
            self.emit(f"if not {self.truth(s.condition).code}: break")

    def _continue(self, s: c.For) -> None:
        """Emit what runs between two trips of a loop."""
        self._place_of = s.at
        if not s.tests_first:
            self._test(s)
        elif s.step is not None:
            self._evaluate(c.Evaluate(s.step, s.step.at))

    def _goto(self, s: c.Goto) -> None:
        if s.label not in self._labels:
            advice = hint(s.label, self._labels, "goto leads out of blocks, not into them")
            raise HostError(f"there is no label {s.label}; {advice}")
        self.emit(self._labels[s.label])

    def _jump(self, s: c.Jump | c.Label | c.Target) -> None:
        if not isinstance(s, c.Jump) or s.kind == "discard" or not self._loops:
            raise HostError(f"{getattr(s, 'kind', 'a label')} has no place here")
        loop = self._loops[-1]
        if isinstance(loop, str):
            self.emit(f"{loop} = {s.kind!r}; break")
        elif s.kind == "break":
            self.emit("break")
        else:
            self._continue(loop)
            self.emit("continue")

    def _switch(self, s: c.Switch) -> None:
        body = s.body.statements if isinstance(s.body, c.Block) else ()
        labels = [one.value for one in body if isinstance(one, c.Label)]
        value = self.value(s.value)
        if not isinstance(value.type, CScalar) or value.type.is_float:
            raise HostError(f"a {value.type} has no cases")
        kind = usual(value.type, INT)
        cases = {
            one and converted(literal(self.constant(one), LONG), kind).constant: number
            for number, one in enumerate(labels)
        }
        if len(cases) < len(labels):
            raise HostError("two cases of this are the same")
        default, entry = cases.pop(None, len(labels)), fresh()
        self.emit(f"{entry} = {cases}.get({settled(converted(value, kind))}, {default})")
        self._loops.append(entry)
        with self.indented("for _ in once:"):
            self._entered(entry, body, -1)
        self._loops.pop()
        self._passed_on(entry, "continue")

    def _return(self, s: c.Return) -> None:
        kind, code = self._result, ""
        if s.value is not None:
            code = settled(converted(self.value(s.value), kind))
        if isinstance(kind, CStruct):
            code = f"read({code}, {kind.size})" if code else f"bytes({kind.size})"
        self.emit(f"return {code or 0}")


def _taken(tree: Any) -> Iterator[str]:
    """The variables whose addresses a statement takes."""
    for node in c.walk(tree):
        if isinstance(node, c.Unary) and node.operator == "&":
            base = node.operand
            while isinstance(base, c.Member | c.Index):
                base = base.base
            yield getattr(base, "name", "")
