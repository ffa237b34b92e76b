"""Values that stand for numbers: what opcodes do to them is an operation with a name.

The opcodes' meanings (isa/opcodes.py) are written in Python's operators and NumPy's functions. On
arrays they compute. On a Symbol each of them comes to `operate`, by NumPy's name of it: `a + b` is
add, `np.where(c, a, b)` is where. So an analysis of programs, or an emitter, is a class of Symbols.
"""

from __future__ import annotations

from typing import Any


class Symbol:
    """A value that stands for numbers."""

    __slots__ = ()

    def operate(self, name: str, operands: tuple[Any, ...]) -> Any:
        """What NumPy's function of that name makes of operands, among which is this symbol."""
        raise NotImplementedError

    def __add__(self, other: Any) -> Any:
        return self.operate("add", (self, other))

    def __sub__(self, other: Any) -> Any:
        return self.operate("subtract", (self, other))

    def __mul__(self, other: Any) -> Any:
        return self.operate("multiply", (self, other))

    def __truediv__(self, other: Any) -> Any:
        return self.operate("divide", (self, other))

    def __radd__(self, other: Any) -> Any:
        return self.operate("add", (other, self))

    def __rsub__(self, other: Any) -> Any:
        return self.operate("subtract", (other, self))

    def __rmul__(self, other: Any) -> Any:
        return self.operate("multiply", (other, self))

    def __rtruediv__(self, other: Any) -> Any:
        return self.operate("divide", (other, self))

    def __neg__(self) -> Any:
        return self.operate("negative", (self,))

    def __lt__(self, other: Any) -> Any:
        return self.operate("less", (self, other))

    def __le__(self, other: Any) -> Any:
        return self.operate("less_equal", (self, other))

    def __gt__(self, other: Any) -> Any:
        return self.operate("greater", (self, other))

    def __ge__(self, other: Any) -> Any:
        return self.operate("greater_equal", (self, other))

    def __or__(self, other: Any) -> Any:
        return self.operate("bitwise_or", (self, other))

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        return self.operate(ufunc.__name__, operands)

    def __array_function__(self, function: Any, _: Any, operands: Any, options: Any) -> Any:
        if options:
            return NotImplemented
        return self.operate(function.__name__, operands)
