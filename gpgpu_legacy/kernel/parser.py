"""GLSL compute shaders to Kernels: grammar, scopes, types and implicit conversions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from gpgpu_legacy.errors import AssemblyError
from gpgpu_legacy.grammars import open_grammar
from gpgpu_legacy.kernel.ir import (
    Assign,
    Barrier,
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
    LValue,
    Select,
    SharedArray,
    Space,
    Statement,
    StorageBuffer,
    Type,
    Unary,
    Uniform,
    Variable,
    Vector,
)
from gpgpu_legacy.kernel.limits import (
    DEEPEST,
    DEEPEST_BLOCKS,
    DEEPEST_LOOPS,
    MOST_ARGUMENTS,
    MOST_DIGITS,
    MOST_INVOCATIONS,
    MOST_NESTED,
    MOST_NODES,
    MOST_SHARED,
    TOO_DEEP,
    check_text,
    elements,
    nodes_and_levels,
)
from gpgpu_legacy.kernel.scopes import Node, Scopes

_AXES = "xyz"
_VECTOR_COMPONENTS = "xyzw"
_WIDENING = (Type.INT, Type.UINT, Type.FLOAT, Type.DOUBLE)  # GLSL 4.3, section 4.1.10


def parse_kernel(text: str, name: str = "kernel") -> Kernel:
    """Parse a compute shader that is in the subset (kernel/grammar.lark).

    text: the whole shader. name: what messages call it, usually a file's path. Raises
    AssemblyError, with line and column, at the first construct outside of the subset, and where a
    driver could read other statements than these: at directives but #version, and at characters
    that end or continue lines for some readers only. A kernel has bounds; see kernel/limits.py.
    """
    check_text(text, name)
    try:
        return _KernelParser(text, name).kernel(_parser().parse(text))
    except UnexpectedInput as error:
        column = max(error.column, 1)
        unexpected = str(getattr(error, "token", "") or getattr(error, "char", ""))
        problem = (
            f"unexpected {repr(unexpected) if unexpected else 'end of the text'}; kernels use the "
            "subset of GLSL in kernel/grammar.lark"
        )
        raise AssemblyError(problem, text, max(error.line, 1), column, name) from None


@cache
def _parser() -> Lark:
    return open_grammar("gpgpu_legacy.kernel", start="kernel", propagate_positions=True)


class _KernelParser(Scopes):
    def __init__(self, text: str, name: str) -> None:
        super().__init__(text, name)
        self.local_size = (1, 1)
        self.uniforms: list[Uniform] = []
        self.buffers: list[StorageBuffer] = []
        self.shared: list[SharedArray] = []
        self.nodes = self.nested = self.blocks = self.loops = 0

    def kernel(self, tree: Node) -> Kernel:
        body: tuple[Statement, ...] | None = None
        for node in _trees(tree):
            match node.data:
                case "local_size":
                    self.set_local_size(node)
                case "storage_buffer":
                    self.storage_buffer(node)
                case "uniform":
                    kind, token = _tokens(node)
                    uniform = Uniform(Type(str(kind)), str(token))
                    self.uniforms.append(uniform)
                    self.declare(token, uniform)
                    self.count_arguments(token)
                case "constant":
                    kind, token = _tokens(node)
                    value = self.convert(self.whole(_trees(node)[0]), Type(str(kind)), node)
                    self.declare(token, self.folded(value, node))
                case "shared":
                    self.shared_array(node)
                case "main":
                    body = self.statement(_trees(node)[0])
        if body is None:
            raise self.error("the kernel has no function main; add `void main() { … }`", tree)
        return Kernel(
            self.local_size,
            tuple(self.uniforms),
            tuple(self.buffers),
            tuple(self.shared),
            body,
            self.text,
            self.name,
        )

    def count(self, nodes: int, at: Token | Node) -> None:
        """So many more nodes of the kernel."""
        self.nodes += nodes
        if self.nodes > MOST_NODES:
            raise self.error(
                f"the kernel has more than {MOST_NODES} operations up to here; make several of it",
                at,
            )

    def count_arguments(self, at: Token | Node) -> None:
        if len(self.uniforms) + len(self.buffers) > MOST_ARGUMENTS:
            raise self.error(f"a kernel has at most {MOST_ARGUMENTS} uniforms and buffers", at)

    # Global declarations --------------------------------------------------------------------

    def layout(self, node: Node) -> dict[str, int]:
        ids = [child.children for child in _trees(node) if child.data == "layout_id"]
        return {str(name): self.integer(value) for name, value in ids if isinstance(value, Token)}

    def integer(self, token: Token) -> int:
        """The value of an integer in the text; GLSL's have 32 bits."""
        digits = token.rstrip("uU")
        if len(digits) > MOST_DIGITS or int(digits) >= 2**32:
            raise self.error("an integer has at most 32 bits; give a smaller one", token)
        return int(digits)

    def set_local_size(self, node: Node) -> None:
        layout = self.layout(node)
        if layout.get("local_size_z", 1) != 1:
            raise self.error(
                "work groups have two dimensions here; set local_size_z to 1, or leave it out", node
            )
        self.local_size = (layout.get("local_size_x", 1), layout.get("local_size_y", 1))
        if not 1 <= self.local_size[0] * self.local_size[1] <= MOST_INVOCATIONS:
            raise self.error(
                f"a work group of {self.local_size[0]}×{self.local_size[1]} invocations; it has "
                f"from 1 to {MOST_INVOCATIONS}",
                node,
            )

    def storage_buffer(self, node: Node) -> None:
        layout, access = self.layout(node), {t for t in _tokens(node) if t.type == "ACCESS"}
        _, kind, token = (t for t in _tokens(node) if t.type != "ACCESS")
        if kind != Type.FLOAT.value or "binding" not in layout:
            raise self.error(
                "a storage buffer must hold float and have a binding, as in layout(binding = 0)",
                node,
            )
        if layout["binding"] >= MOST_ARGUMENTS:
            raise self.error(f"a buffer's binding is less than {MOST_ARGUMENTS}", node)
        buffer = StorageBuffer(
            str(token), layout["binding"], "writeonly" not in access, "readonly" not in access
        )
        self.buffers.append(buffer)
        self.declare(token, buffer)
        self.count_arguments(token)

    def shared_array(self, node: Node) -> None:
        kind, token = _tokens(node)
        extents = [self.extent(child) for child in _trees(node)]
        array = SharedArray(str(token), Type(str(kind)), tuple(extents))
        self.shared.append(array)
        if min(array.extents) < 1 or elements(self.shared) > MOST_SHARED:
            raise self.error(
                f"shared array {token} has {prod(array.extents)} elements; each extent is at least "
                f"1, and all shared arrays together have at most {MOST_SHARED} elements",
                node,
            )
        self.declare(token, array)

    def extent(self, node: Node) -> int:
        """An extent of an array."""
        extent = self.folded(self.whole(node), node)
        if not extent.type.is_integer:
            raise self.error("an extent is a whole number", node)
        return int(extent.value)

    def folded(self, expression: Expression, at: Node) -> Literal:
        """The value of a constant expression."""
        match expression:
            case Literal():
                return expression
            case Convert(type=kind, operand=operand):
                value = self.folded(operand, at).value
                return self.literal(kind, value, at)
            case Binary(type=kind, operator=operator, left=left, right=right):
                if operator in _FOLD:
                    operands = self.folded(left, at).value, self.folded(right, at).value
                    return self.literal(kind, _FOLD[operator](*operands), at)
        raise self.error("expected a constant: literals and constants joined by +, - and *", at)

    def literal(self, kind: Type, value: float, at: Node) -> Literal:
        if not kind.is_integer:
            return Literal(kind, float(value))
        if not abs(value) < 2**32:
            raise self.error("a constant has more than 32 bits; give a smaller one", at)
        return _integer(kind, int(value))

    # Statements -----------------------------------------------------------------------------

    def statement(self, node: Node) -> tuple[Statement, ...]:
        readers: dict[str, Callable[[Node], tuple[Statement, ...]]] = {
            "block": self.block,
            "declaration": self.declaration,
            "assignments": lambda n: tuple(self.assignment(child) for child in _trees(n)),
            "if_statement": lambda n: (self.if_statement(n),),
            "for_statement": lambda n: (self.for_statement(n),),
            # memoryBarrierShared orders memory; here barrier() does that as well.
            "barrier": lambda n: (Barrier(),) if _tokens(n)[0] == "barrier" else (),
        }
        reader = readers.get(node.data)
        self.count(1, node)
        if reader is None:
            return (self.assignment(node),)
        is_loop = node.data == "for_statement"
        self.blocks, self.loops = self.blocks + 1, self.loops + is_loop
        if self.blocks > DEEPEST_BLOCKS or self.loops > DEEPEST_LOOPS:
            raise self.error(TOO_DEEP, node)
        statements = reader(node)
        self.blocks, self.loops = self.blocks - 1, self.loops - is_loop
        return statements

    def block(self, node: Node) -> tuple[Statement, ...]:
        with self.scope():
            return tuple(s for child in _trees(node) for s in self.statement(child))

    def declaration(self, node: Node) -> tuple[Statement, ...]:
        kind = Type(str(_tokens(node)[0]))
        declared: list[Statement] = []
        for declarator in _trees(node):
            token, value = declarator.children
            assert isinstance(token, Token)
            self.count(1, token)
            initial = None
            if isinstance(value, Tree):
                initial = self.convert(self.whole(value), kind, value)
            declared.append(Declare(self.variable(token, kind), initial))
        return tuple(declared)

    def assignment(self, node: Node) -> Assign:
        if node.data == "assign":
            left, operator, right = node.children
            assert isinstance(left, Tree) and isinstance(right, Tree)
            is_read = str(operator) != "="
            target, value = self.lvalue(left, is_read=is_read), self.whole(right)
            if is_read:
                value = self.binary(str(operator)[0], target, value, node)
        else:
            target = self.lvalue(_trees(node)[0], is_read=True)
            value = self.binary(str(_tokens(node)[0])[0], target, Literal(Type.INT, 1), node)
        return Assign(target, self.convert(value, target.type, node))

    def lvalue(self, node: Node, *, is_read: bool) -> LValue:
        """What an assignment changes. is_read: it also reads the old value, as += does."""
        if node.data == "indexed":
            element = self.element(node, is_read=is_read, is_written=True)
            self.limited(element, node)
            return element
        target = self.whole(node)
        if isinstance(target, Component) and not isinstance(target.vector, Variable):
            raise self.error(
                "only components of variables can be assigned to; assign to a variable first", node
            )
        if not isinstance(target, Variable | Component):
            raise self.error("expected a variable, an element or a component to assign to", node)
        return target

    def if_statement(self, node: Node) -> If:
        condition, then, *rest = _trees(node)
        otherwise = self.statement(rest[0]) if rest else ()
        return If(self.whole_condition(condition), self.statement(then), otherwise)

    def for_statement(self, node: Node) -> For:
        start, condition, step, body = _trees(node)
        with self.scope():
            return For(
                self.statement(start),
                self.whole_condition(condition),
                self.statement(step),
                self.statement(body),
            )

    def condition(self, node: Node) -> Expression:
        condition = self.expression(node)
        if condition.type is not Type.BOOL:
            raise self.error(
                f"the condition has type {condition.type.value}; it must be bool", node
            )
        return condition

    # Expressions ----------------------------------------------------------------------------

    def whole(self, node: Node) -> Expression:
        """An expression that is no part of another one, within the limits."""
        return self.limited(self.expression(node), node)

    def whole_condition(self, node: Node) -> Expression:
        """A condition that is no part of another one, within the limits."""
        return self.limited(self.condition(node), node)

    def limited(self, expression: Expression, at: Node) -> Expression:
        nodes, levels = nodes_and_levels(expression)
        if levels > DEEPEST:
            raise self.error(TOO_DEEP, at)
        self.count(nodes, at)
        return expression

    def expression(self, node: Node) -> Expression:
        self.nested += 1
        if self.nested > MOST_NESTED:
            raise self.error(TOO_DEEP, node)
        readers: dict[str, Callable[[Node], Expression]] = {
            "name": lambda n: self.name_expression(_tokens(n)[0]),
            "integer": lambda n: self.integer_literal(_tokens(n)[0]),
            "floating": lambda n: _floating(str(_tokens(n)[0])),
            "boolean": lambda n: Literal(Type.BOOL, _tokens(n)[0] == "true"),
            "construct": self.construct,
            "indexed": lambda n: self.element(n, is_read=True, is_written=False),
            "member": self.member,
            "signed": self.signed,
            "negated": lambda n: Unary(Type.BOOL, "!", self.condition(_trees(n)[0])),
            "select": self.select,
            "any_of": lambda n: self.logical("||", n),
            "all_of": lambda n: self.logical("&&", n),
        }
        value = readers.get(node.data, self.chain)(node)
        self.nested -= 1
        return value

    def integer_literal(self, token: Token) -> Literal:
        return _integer(Type.UINT if token[-1] in "uU" else Type.INT, self.integer(token))

    def chain(self, node: Node) -> Expression:
        """Operators of one precedence, associated from the left."""
        first, *rest = node.children
        assert isinstance(first, Tree)
        value = self.expression(first)
        for operator, operand in zip(rest[::2], rest[1::2], strict=True):
            assert isinstance(operand, Tree)
            value = self.binary(str(operator), value, self.expression(operand), node)
        return value

    def logical(self, operator: str, node: Node) -> Expression:
        first, *rest = (self.condition(child) for child in _trees(node))
        value: Expression = first
        for operand in rest:
            value = Binary(Type.BOOL, operator, value, operand)
        return value

    def name_expression(self, token: Token) -> Expression:
        symbol = self.lookup(token)
        if isinstance(symbol, StorageBuffer | SharedArray):
            raise self.error(f"{token} is an array; name an element, as in {token}[0]", token)
        return symbol

    def construct(self, node: Node) -> Expression:
        kind, parts = Type(str(_tokens(node)[0])), [self.expression(c) for c in _trees(node)]
        if kind is not Type.VEC4:
            if len(parts) != 1:
                raise self.error(f"{kind.value}() takes one value, found {len(parts)}", node)
            return parts[0] if parts[0].type is kind else Convert(kind, parts[0])
        parts = parts * 4 if len(parts) == 1 else parts
        if len(parts) != 4:
            raise self.error(f"vec4() takes one value or four, found {len(parts)}", node)
        x, y, z, w = (self.convert(part, Type.FLOAT, node) for part in parts)
        return Vector((x, y, z, w))

    def element(self, node: Node, *, is_read: bool, is_written: bool) -> Element:
        """An element of an array, which its access qualifiers must allow (GLSL 4.3, 4.10)."""
        indices: list[Expression] = []
        base = node
        while base.data == "indexed":
            base, index = _trees(base)
            value = self.expression(index)
            if not value.type.is_integer:
                raise self.error(
                    f"the index has type {value.type.value}; it must be int or uint", index
                )
            indices.insert(0, value)
        if base.data != "name":
            raise self.error(
                "only arrays can be indexed; name a storage buffer or a shared array", base
            )
        name = _tokens(base)[0]
        symbol = self.lookup(name)
        if isinstance(symbol, StorageBuffer) and len(indices) == 1:
            if is_written and not symbol.is_written:
                raise self.error(
                    f"{name} is readonly; store to another buffer, or leave readonly out", node
                )
            if is_read and not symbol.is_read:
                raise self.error(
                    f"{name} is writeonly; load from another buffer, or leave writeonly out", node
                )
            return Element(Type.FLOAT, Space.BUFFER, symbol.name, tuple(indices), name.line or 0)
        if isinstance(symbol, SharedArray) and len(indices) == len(symbol.extents):
            array = symbol.name
            return Element(symbol.type, Space.SHARED, array, tuple(indices), name.line or 0)
        if not isinstance(symbol, StorageBuffer | SharedArray):
            raise self.error(f"{name} is not an array; leave the index out", node)
        dimensions = len(symbol.extents) if isinstance(symbol, SharedArray) else 1
        expected = f"{dimensions} {'index' if dimensions == 1 else 'indices'}"
        raise self.error(f"{name} takes {expected}, found {len(indices)}", node)

    def member(self, node: Node) -> Expression:
        owner, field = _trees(node)[0], str(_tokens(node)[-1])
        if owner.data == "name" and str(_tokens(owner)[0]).startswith("gl_"):
            return self.built_in(str(_tokens(owner)[0]), field, node)
        vector = self.expression(owner)
        if vector.type is not Type.VEC4 or field not in _VECTOR_COMPONENTS:
            raise self.error(
                f"there is no component .{field} here; a vec4 has .x, .y, .z and .w", node
            )
        return Component(vector, _VECTOR_COMPONENTS.index(field))

    def built_in(self, name: str, field: str, node: Node) -> Expression:
        names = {built_in.value: built_in for built_in in BuiltIn}
        if field not in _AXES or not field:
            raise self.error(f"{name} has no component .{field}; it has .x, .y and .z", node)
        if name == "gl_WorkGroupSize":
            return Literal(Type.UINT, (*self.local_size, 1)[_AXES.index(field)])
        if name not in names:
            raise self.error(
                f"{name} is not supported; use {', '.join(names)} or gl_WorkGroupSize", node
            )
        return BuiltInComponent(names[name], _AXES.index(field))

    def signed(self, node: Node) -> Expression:
        operand = self.expression(_trees(node)[0])
        return Unary(operand.type, "-", operand) if _tokens(node)[0] == "-" else operand

    def select(self, node: Node) -> Expression:
        condition, chosen, other = _trees(node)
        left, right = self.balance(self.expression(chosen), self.expression(other), node)
        return Select(left.type, self.condition(condition), left, right)

    def binary(self, operator: str, left: Expression, right: Expression, node: Node) -> Expression:
        left, right = self.balance(left, right, node)
        if operator == "%" and not left.type.is_integer:
            raise self.error("% needs integers, as in int(a) % 2", node)
        compares = operator in ("==", "!=", "<", "<=", ">", ">=")
        if left.type is Type.BOOL or (compares and left.type is Type.VEC4):
            raise self.error(
                f"{operator} does not apply to {left.type.value}; convert the operands first", node
            )
        return Binary(Type.BOOL if compares else left.type, operator, left, right)

    def balance(
        self, left: Expression, right: Expression, node: Node
    ) -> tuple[Expression, Expression]:
        """Both operands converted to their common type."""
        if left.type is right.type:
            return left, right
        if Type.VEC4 in (left.type, right.type):
            return self.spread(left, node), self.spread(right, node)
        if Type.BOOL in (left.type, right.type):
            raise self.error(
                "an operator cannot combine a bool with a number; convert one, as in float(b)", node
            )
        wider = max(left.type, right.type, key=_WIDENING.index)
        return self.convert(left, wider, node), self.convert(right, wider, node)

    def spread(self, value: Expression, node: Node) -> Expression:
        if value.type is Type.VEC4:
            return value
        scalar = self.convert(value, Type.FLOAT, node)
        return Vector((scalar, scalar, scalar, scalar))

    def convert(self, value: Expression, kind: Type, node: Node) -> Expression:
        """GLSL's implicit conversion. A conversion that can lose information must be explicit."""
        if value.type is kind:
            return value
        widens = (
            value.type in _WIDENING
            and kind in _WIDENING
            and _WIDENING.index(value.type) < _WIDENING.index(kind)
        )
        if not widens:
            raise self.error(
                f"a {value.type.value} does not convert to {kind.value} implicitly; write "
                f"{kind.value}(…)",
                node,
            )
        if isinstance(value, Literal):
            if kind.is_integer:
                return _integer(kind, int(value.value))
            return Literal(kind, float(value.value))
        return Convert(kind, value)


_FOLD: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


def _trees(node: Node) -> list[Node]:
    return [child for child in node.children if isinstance(child, Tree)]


def _tokens(node: Node) -> list[Token]:
    return [child for child in node.children if isinstance(child, Token)]


def _integer(kind: Type, value: int) -> Literal:
    """The literal of a number's 32 bits: 4294967295 is -1 as an int."""
    half = 2**31 if kind is Type.INT else 0
    return Literal(kind, (value + half) % 2**32 - half)


def _floating(text: str) -> Literal:
    lower = text.lower()
    if lower.endswith("lf"):
        return Literal(Type.DOUBLE, float(lower[:-2]))
    return Literal(Type.FLOAT, float(lower.rstrip("f")))
