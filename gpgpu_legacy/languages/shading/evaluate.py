"""Functions and simple statements, evaluated on a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import inf, isinf

from gpgpu_legacy.languages.c import syntax as c
from gpgpu_legacy.languages.diagnostics import meant
from gpgpu_legacy.languages.shading.expressions import ShaderVariable, described
from gpgpu_legacy.languages.shading.graph import Fault, Graph, Vector, widest
from gpgpu_legacy.languages.shading.library import Library, operation
from gpgpu_legacy.languages.shading.loops import Loops, is_out
from gpgpu_legacy.languages.shading.types import (
    GENERIC,
    KINDS,
    VOID,
    ArrayType,
    Indexed,
    Numbers,
    SamplerType,
    StructType,
    Type,
    implements,
    is_open,
)


class Evaluator(Loops):
    """Evaluates functions of a unit on a graph. library: the language's."""

    library: Library

    def __init__(
        self, unit: c.Unit, graph: Graph, special: Mapping[str, Callable[..., Vector]] = {}
    ) -> None:
        """special: functions that a language adds, by name."""
        super().__init__(graph)
        self._special = special
        self.globals: dict[str, c.Declaration] = {}
        for name, number in (("false", 0), ("true", 1)):
            self.declare(name, graph.numbers(number, kind="bool"), constant=True)
        for item in unit.items:
            if isinstance(item, c.Function) and item.body is not None:
                self._functions.setdefault(item.name, []).append(item)
            elif isinstance(item, c.Declare):
                self.globals |= {d.name: d for d in item.declarations}
            elif not isinstance(item, c.Function):
                self.execute(item)

    # Functions ------------------------------------------------------------------------------------

    def run(self, function: c.Function, given: Mapping[str, Vector]) -> dict[str, Vector]:
        """Evaluate a function; return the final values of its parameters and of `return` by name.

        given: values of parameters, taken as they are; the others begin as 0.
        """
        used = self._names_in(function, *self.methods.values())
        for name, declaration in self.globals.items():
            if name in used and name not in self.scopes[0]:
                self.declare_global(declaration)
        values = self._inline(function, given)
        self._alive = True
        return values

    def _names_in(self, *trees: object) -> set[str]:
        """All names in syntax trees, and in the functions and globals that these name."""
        names, stack = set[str](), list(trees)
        while stack:
            for node in c.walk(stack.pop()):
                if isinstance(node, c.Name) and node.name not in names:
                    names.add(node.name)
                    stack += self._functions.get(node.name, ())
                    stack.append(self.globals.get(node.name))
        return names

    def declare_global(self, d: c.Declaration) -> None:
        """Declare a variable outside functions."""
        self._declare(d)

    def _declare(self, d: c.Declaration, value: Vector | None = None) -> None:
        """Declare a variable. value: its first one if the text gives none; else that is 0."""
        if d.value is not None:
            value = self.initialised(d.value, self.type_of(d))
        elif value is None:
            value = self.graph.zeros(self.sized(d))
        self.declare(d.name, value, constant="const" in d.type.qualifiers)

    def _inline(
        self, function: c.Function, given: Mapping[str, Vector], of: Vector | None = None
    ) -> dict[str, Vector]:
        """Inline a function: its parameters' final values, and `return`. of: a method's `this`."""
        if any(function is active for active in self._active):
            raise Fault(
                f"{function.name} calls itself; fragment programs have no stack: use a loop",
                self.graph.at,
            )
        result = ShaderVariable("return", False)
        scopes, self.scopes = self.scopes, [self.scopes[0], {"return": result}]
        self._active.append(function)
        if of is not None and isinstance(of.shape, StructType):
            this = self.declare("this", of)
            self.scopes[-1] |= dict.fromkeys((f.name for f in of.shape.fields), this)
        for p in function.parameters:
            value = given[p.name] if p.name in given else self.graph.zeros(self.sized(p))
            self.declare(p.name, value, constant="const" in p.type.qualifiers)
        kind = self.type_named(function.type)
        if self.graph.branching and not is_open(kind) and kind.kind not in GENERIC:
            self.values[result] = self.graph.zeros(kind)
        scope = self._enter("return")
        assert function.body is not None
        self.execute(function.body)
        is_void = function.type.name == "void"
        if self._alive and not (is_void or scope.exits or scope.flagged):
            raise Fault(f"{function.name} ends without return; return a value", function.at)
        self._leave(scope, falls=is_void)
        self._active.pop()
        named = self.scopes[-1].items()
        values = {name: self.values[v] for name, v in named if v in self.values}
        if not is_void and "return" not in values:  # all fragments are discarded
            values["return"] = self.graph.zeros(kind)
        self._close()
        self.scopes = scopes
        return values

    def _call(self, call: c.Call) -> Vector | None:
        name = call.function
        this = self.scopes[1].get("this") if self._active else None
        methods = self.methods_of(self.values[this]) if this else ()
        if isinstance(name, c.Name) and name.name in {m.name for m in methods}:
            name = c.Member(c.Name("this", name.at), name.name, at=name.at)
        if isinstance(name, c.TypeName):
            values = [self.evaluate(x) for x in call.arguments]
            self.graph.at = call.at
            return self.constructed(self.type_named(name), values, call.at)
        if isinstance(name, c.Member):
            return self.call_method(name, call)
        if not isinstance(name, c.Name):
            raise Fault("this is not a function; call a function by its name", call.at)
        if name.name in self._special:
            return self._special[name.name](*map(self.evaluate, call.arguments))
        if call.at.file == c.BEFORE and name.name.isupper():
            return operation(self.graph, name.name, *map(self.evaluate, call.arguments))
        if call.at.file != c.BEFORE and name.name in self._functions:
            return self._call_own(self.overloads(name.name), call)
        return self.call_library(name.name, call)

    def call_method(self, name: c.Member, call: c.Call) -> Vector | None:
        """Inline a method, and assign its final `this` to the value that it is called on."""
        place = None
        with suppress(Fault):  # it is no variable, or its index depends on data
            place = self.place(name.base)
        base = self.evaluate(name.base) if place is None else self.read(place)
        known = self.methods_of(base)
        methods = [m for m in known if m.name == name.name]
        if not methods:
            expected = "only a struct has methods, which have bodies"
            expected = meant(name.name, (m.name for m in known)) or expected
            raise Fault(f"{described(base)} has no method {name.name}; {expected}", name.at)

        def leave(this: Vector) -> None:
            if this.literals != base.literals and not isinstance(name.base, c.Call):
                self.write(place or self.place(name.base), this)

        return self._call_own(methods, call, base, leave)

    def _call_own(
        self,
        functions: Sequence[c.Function],
        call: c.Call,
        this: Vector | None = None,
        leave: Callable[[Vector], None] = lambda _: None,
    ) -> Vector | None:
        """Inline the function whose parameters suit the arguments best.

        this: the value that a method is called on. leave: is given its final value.
        """
        outs = {k for f in functions for k, p in enumerate(f.parameters) if is_out(p)}
        places = {}
        values = []
        for number, x in enumerate(call.arguments):
            with suppress(Fault):  # perhaps an `out` of another overload
                if number in outs:
                    places[number] = self.place(x)
            values.append(self.read(places[number]) if number in places else self.evaluate(x))
        function = self.chosen(functions, values, call)
        for number, p in enumerate(function.parameters[: len(values)]):
            if is_out(p) and number not in places:
                self.place(call.arguments[number])
        given = {
            p.name: self.convert(value, self.type_of(p), x.at)
            for p, value, x in zip(function.parameters, values, call.arguments, strict=False)
            if "out" not in p.type.qualifiers
        }
        for p in function.parameters[len(values) :]:
            assert p.value is not None
            given[p.name] = self.initialised(p.value, self.type_of(p))
        self.graph.at = call.at
        left = self._inline(function, given, this)
        self.graph.at = call.at
        if this is not None:
            leave(left["this"])
        for number, place in places.items():
            if is_out(function.parameters[number]):
                self.write(place, left[function.parameters[number].name])
        result = left.get("return")
        if result is not None and not result.shape and function.type.name in GENERIC:
            return result.of(widest(*given.values()))
        return result

    def overloads(self, name: str) -> Sequence[c.Function]:
        """The functions of a name that the text defines."""
        return self._functions[name]

    def chosen(
        self, functions: Sequence[c.Function], values: Sequence[Vector], call: c.Call
    ) -> c.Function:
        """The function that a call means: the one whose parameters suit the values best."""
        self.graph.spend(len(functions) * (1 + len(values)) >> 2)

        def cost(function: c.Function) -> float:
            required = sum(p.value is None for p in function.parameters)
            if not required <= len(values) <= len(function.parameters):
                return inf
            types = map(self.type_of, function.parameters)
            return sum(self.distance(v.type, t) for v, t in zip(values, types, strict=False))

        best = min(functions, key=cost)
        if isinf(cost(best)):
            given = ", ".join(map(described, values)) or "no arguments"
            expected = " or ".join(
                f"{f.name}({', '.join(str(self.type_of(p)) for p in f.parameters)})"
                for f in functions
            )
            raise Fault(f"{best.name} does not take {given}; expected {expected}", call.at)
        return best

    def distance(self, own: Type, kind: Type) -> float:
        """The cost of a conversion: a width costs more than a kind; infinite if there is none."""
        is_generic = isinstance(own, Numbers) and kind.kind in GENERIC
        if kind in (own, GENERIC["value"]) or isinstance(own, Indexed) or is_generic:
            return 0
        match own, kind:
            case ArrayType(), ArrayType() if own.is_matrix is kind.is_matrix:
                fits = kind.length in (None, own.length)
                return self.distance(own.item, kind.item) if fits else inf
            case SamplerType(), SamplerType():
                return 0
            case _ if implements(own, kind):
                return 1
            case Numbers(), Numbers() if own.width == 1 or own.width >= kind.width:
                wider = KINDS.index(kind.kind) - KINDS.index(own.kind)
                widths = 0 if own.width == kind.width else 10 if own.width == 1 else 100
                return widths + (wider / 10 if wider >= 0 else 1 - wider / 10)
        return inf

    def call_library(self, name: str, call: c.Call) -> Vector | None:
        """Call a function of the language's library."""
        functions = self.library.functions(name, call.at)
        if not functions:
            expected = meant(name, [*self._functions, *self.library.texts]) or "define it first"
            raise Fault(f"there is no function {name}; {expected}", call.at)
        return self._call_own(functions, call)

    # Statements -----------------------------------------------------------------------------------

    def _do_typedef(self, typedef: c.Typedef) -> None:
        self.types[typedef.declaration.name] = self.type_of(typedef.declaration)

    def _do_declare(self, statement: c.Declare) -> None:
        for declaration in statement.declarations:
            self._declare(declaration)

    def _do_evaluate(self, statement: c.Evaluate) -> None:
        if isinstance(statement.expression, c.Call):
            self._call(statement.expression)
        elif statement.expression is not None:
            self.evaluate(statement.expression)

    def _do_return(self, statement: c.Return) -> None:
        kind, name = self.type_named(self._active[-1].type), self._active[-1].name
        if (statement.value is None) is not (kind == VOID):
            raise Fault(f"{name} is {kind}; return what it is", statement.at)
        if kind != VOID and is_open(kind):
            raise Fault(f"{name} returns an {kind}; return a struct", statement.at)
        if statement.value is not None:
            result = self.convert(self.evaluate(statement.value), kind, statement.at)
            self.values[self.find(c.Name("return"))] = result
        self._exit("return")
        self._alive = False
