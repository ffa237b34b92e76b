"""Symbols that opcodes are evaluated on: the same with NumPy and without, and of no option."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from gpgpu_legacy.isa.opcodes import Symbol

EVALUATED = """
from gpgpu_legacy.isa.opcodes import ARBFP, Form, OperandKind
from gpgpu_legacy.isa.opcodes import Symbol

class Text(Symbol):
    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text

    def operate(self, name, operands):
        shown = [repr(o) if isinstance(o, Text) else repr(float(o)) for o in operands]
        return Text(name + "(" + ", ".join(shown) + ")")

SOURCES = {OperandKind.VECTOR, OperandKind.SCALAR, OperandKind.REGISTER}
for name, row in ARBFP.items():
    count = sum(kind in SOURCES for kind in row.shape)
    if row.form in (Form.COMPONENTWISE, Form.SCALAR):
        sources = [Text(s) for s in "abc"[:count]]
    else:
        sources = [[Text(s + c) for c in "xyzw"] for s in "abc"[:count]]
    made = row.evaluate(*sources)
    values = made if isinstance(made, (tuple, list)) else [made]
    print(name, [v if isinstance(v, Text) else float(v) for v in values])
import sys
print("numpy" in sys.modules, file=sys.stderr)
"""


def test_symbols_do_without_numpy_and_operations_have_the_same_names() -> None:
    without, given = (
        subprocess.run(
            [sys.executable, "-c", first + EVALUATED], capture_output=True, text=True, check=True
        )
        for first in ("", "import numpy\n")
    )
    assert (without.stderr.strip(), given.stderr.strip()) == ("False", "True")
    assert without.stdout == given.stdout
    assert "LRP [add(multiply(a, b), multiply(subtract(1.0, a), c))]" in without.stdout


class Plain(Symbol):
    def operate(self, name: str, operands: tuple[Any, ...]) -> Plain:
        return self


def test_symbols_take_no_option_of_numpy_s_functions() -> None:
    with pytest.raises(TypeError):
        np.add(Plain(), Plain(), dtype=np.float32)
    with pytest.raises(TypeError):
        np.clip(Plain(), 0, a_max=1)
