"""Values that stand for numbers: what opcodes do to them is an operation with a name.

The opcodes' meanings (isa/opcodes.py) are written in Python's operators and NumPy's functions. On
arrays they compute. On a Symbol each of them comes to `operate`, by NumPy's name of it: `a + b` is
add, `np.where(c, a, b)` is where. So an analysis of programs, or an emitter, is a class of Symbols.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_Method = Callable[[Any, Any], Any]


def _methods(name: str) -> tuple[_Method, _Method]:
    """The methods of an operator: with the symbol on its left, and on its right."""
    return (
        lambda self, other: self.operate(name, (self, other)),
        lambda self, other: self.operate(name, (other, self)),
    )


class Symbol:
    """A value that stands for numbers."""

    __slots__ = ()

    def operate(self, name: str, operands: tuple[Any, ...]) -> Any:
        """What NumPy's function of that name makes of operands, among which is this symbol."""
        raise NotImplementedError

    __add__, __radd__ = _methods("add")
    __sub__, __rsub__ = _methods("subtract")
    __mul__, __rmul__ = _methods("multiply")
    __truediv__, __rtruediv__ = _methods("divide")
    __lt__ = _methods("less")[0]
    __le__ = _methods("less_equal")[0]
    __gt__ = _methods("greater")[0]
    __ge__ = _methods("greater_equal")[0]
    __or__ = _methods("bitwise_or")[0]

    def __neg__(self) -> Any:
        return self.operate("negative", (self,))

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        return self.operate(ufunc.__name__, operands)

    def __array_function__(self, function: Any, _: Any, operands: Any, options: Any) -> Any:
        if options:
            return NotImplemented
        return self.operate(function.__name__, operands)
