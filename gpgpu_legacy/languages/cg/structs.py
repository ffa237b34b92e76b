"""Structs, the interfaces that they implement, and their methods."""

from __future__ import annotations

from gpgpu_legacy.languages.c import syntax as c
from gpgpu_legacy.languages.cg.expressions import Expressions
from gpgpu_legacy.languages.cg.faults import Fault
from gpgpu_legacy.languages.cg.graph import Graph, Vector
from gpgpu_legacy.languages.cg.types import StructType, Type, is_open


class Structs(Expressions):
    """Expressions, with the structs that a text defines."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.methods: dict[str, tuple[c.Function, ...]] = {}
        """Of structs and interfaces, by their names."""

    def sized(self, d: c.Declaration) -> Type:
        """The type of what is declared here, and not given."""
        kind = self.type_of(d)
        if is_open(kind):
            raise Fault(f"{d.name} is {kind}", "give it a type with a size", d.at)
        return kind

    def methods_of(self, value: Vector, name: str) -> list[c.Function]:
        """The methods of a name that a value has."""
        known = self.methods.get(getattr(value.type, "name", ""), ())
        return [m for m in known if m.body is not None and name in (m.name, "")]

    def _do_struct(self, struct: c.Struct) -> None:
        types = tuple(map(self.type_of, struct.fields))
        for field in struct.fields:
            if struct.is_interface or field.value is not None:
                problem = f"{struct.name}.{field.name} is not allowed"
                expected = "an interface has methods alone, and no field has an initial value"
                raise Fault(problem, expected, field.at)
        base = struct.name if struct.is_interface else struct.base
        self.types[struct.name] = StructType(struct.name, struct.fields, types, base)
        self.methods[struct.name] = (*struct.methods, *self.methods.get(struct.name, ()))
        if struct.base and not is_open(self.types[struct.base]):
            expected = "only an interface may stand there: make it a field"
            raise Fault(f"{struct.name} inherits {struct.base}", expected, struct.at)
        own = [*map(self._signature, struct.methods)]
        for name, kind, parameters in map(self._signature, self.methods.get(struct.base, ())):
            if (name, kind, parameters) not in own:
                wanted = f"{kind} {name}({', '.join(map(str, parameters))})"
                expected = f"interface {struct.base} asks for it"
                raise Fault(f"{struct.name} has no {wanted}", expected, struct.at)

    def _signature(self, f: c.Function) -> tuple[str, Type, list[Type]]:
        return f.name, self.type_named(f.type), [*map(self.type_of, f.parameters)]
