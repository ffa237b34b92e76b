"""What programs come to in the lowering IR: which statements they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest
from drawing import program
from program_keys import program_key

from gpgpu_legacy.isa.arithmetic import FP32, Arithmetic
from gpgpu_legacy.isa.expressions import Compose, Expression, Operation, Read, Role, component
from gpgpu_legacy.isa.program import Attribute, AttributeKind
from gpgpu_legacy.isa.statements import Assign, Call, Declare, Statement, all_expressions, walk
from gpgpu_legacy.isa.types import ALONG_X, ALONG_Y, EVERYWHERE, FLOAT, NOWHERE, Operator
from gpgpu_legacy.lower.fragments import ShaderKey, fragment_statements
from gpgpu_legacy.lower.fused.body import AxesLowering
from gpgpu_legacy.lower.lowering import attribute_variable, temporary_variable
from gpgpu_legacy.plan.textures import Extent, Filter, Sampler, Wrap


def lowered(key: ShaderKey) -> list[Statement]:
    return fragment_statements(key, rasterised=True)


def statements_of(
    *lines: str, exact: bool = True, arithmetic: Arithmetic = FP32, option: str = ""
) -> list[Statement]:
    """Those of the instructions, fog and targets: without what declares registers."""
    text = program(*lines, temporaries=f"{option} TEMP R0, R1, R2, R3;")
    made = lowered(program_key(text, exact=exact, arithmetic=arithmetic))
    registers = (Role.TEMPORARY, Role.RESULT, Role.ATTRIBUTE)
    return [s for s in made if not isinstance(s, Declare) or s.variable.role not in registers]


def assignments(*lines: str, **more: object) -> list[Assign]:
    made = statements_of(*lines, **more)  # type: ignore[arg-type]
    return [s for s in made if isinstance(s, Assign)]


def operations(value: Expression) -> list[Operator]:
    """The operators of an expression, outer ones first."""
    return [part.operator for part in walk(value) if isinstance(part, Operation)]


R0, R1, R2 = map(temporary_variable, ("R0", "R1", "R2"))
SHOWN = "MOV result.color, R0;"


# Statements --------------------------------------------------------------------------------------


def test_what_several_components_share_is_computed_once() -> None:
    [whole, *_] = assignments("RCP R0, R1.z;", SHOWN)
    assert isinstance(whole.value, Compose)
    # Emitters see that it is one number.
    assert len({id(part) for part in whole.value.operands}) == 1
    [part, first, *_] = statements_of("MAX R0.x, R1, R2;", "FRC R0.y, R0.x;", SHOWN)[1:]
    assert isinstance(part, Declare)
    assert part.variable.type == FLOAT
    assert part.value is not None
    assert operations(part.value) == [Operator.SUBTRACT, Operator.FLOOR]
    assert isinstance(first, Assign)
    assert operations(first.value) == [Operator.SELECT, Operator.LESS]
    assert list(walk(first.value)).count(Read(part.variable, (0,), EVERYWHERE)) == 2


# Rounding and contraction ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "contracted"),
    [
        ("MAD R0, R1, R2, R3;", {Operator.ADD, Operator.MULTIPLY}),
        ("DP3 R0.x, R1, R2;", {Operator.ADD, Operator.MULTIPLY}),
        ("LRP R0, R1, R2, R3;", {Operator.ADD, Operator.MULTIPLY, Operator.SUBTRACT}),
        ("RCP R0.x, R1.x;", set()),
    ],
)
def test_sums_and_products_of_instructions_may_be_contracted(
    line: str, contracted: set[Operator]
) -> None:
    """An emitter of exact code keeps them apart all the same."""
    [first, *_] = assignments(line, SHOWN)
    parts = [part for part in walk(first.value) if isinstance(part, Operation)]
    assert {part.operator for part in parts if part.contracts} == contracted


def functions_called(statements: Iterable[Statement]) -> Iterator[Call]:
    return (value for value in all_expressions(statements) if isinstance(value, Call))


def test_what_specifies_places_is_rounded_operation_by_operation() -> None:
    """Attributes at a fragment, lookups, and the levels of a target."""
    linear = Sampler(Filter.LINEAR, Wrap.REPEAT)
    text = program("TEX R0, fragment.texcoord[0], texture[0], 3D;", SHOWN)
    key = program_key(text, exact=False)
    unit = replace(key.units[0], extent=Extent(7, 5, 3), sampler=linear)
    made = lowered(replace(key, units=(unit,)))
    attribute = attribute_variable(Attribute(AttributeKind.TEXCOORD))
    [interpolated] = [s for s in made if isinstance(s, Declare) and s.variable == attribute]
    [call] = functions_called(made)
    assert interpolated.value is not None
    for value in [*walk(interpolated.value), *all_expressions(call.function.body)]:
        assert not (isinstance(value, Operation) and value.contracts)


# Axes --------------------------------------------------------------------------------------------


def followed(*lines: str) -> list[Assign]:
    lowering = AxesLowering(0)
    for instruction in program(*lines, temporaries="TEMP R0, R1, R2;").instructions:
        assert instruction.dst is not None
        lowering.instruction(instruction, instruction.dst.components)
    return [s for s in lowering.statements if isinstance(s, Assign)]


def test_values_know_the_axes_along_which_they_vary() -> None:
    """Component by component: what the machine keeps as a row, a column or a number, is one."""
    made = followed(
        "MOV R0.x, fragment.position.x;",
        "MUL R0.y, fragment.position.y, program.local[0];",
        "MOV R0.z, program.local[0];",
        "ADD R0.w, R0.x, R0.z;",
        "ADD R1, R0.x, R0.y;",
        "MOV R2, R0;",
        "ADD result.color, R1, R2;",
    )
    assert [s.value.axes for s in made[:5]] == [ALONG_X, ALONG_Y, NOWHERE, ALONG_X, EVERYWHERE]
    assert component(made[5].value, 2).axes == EVERYWHERE  # of a register as a whole
    by_component = followed("MOV R0.xz, fragment.position;", "MOV R1, R0.z;",
                            "MOV result.color, R1;")  # fmt: skip
    assert by_component[1].value.axes == NOWHERE
    composed = followed("SWZ R0, fragment.position, 0, x, y, 1;", "MOV R1, R0.y;",
                        "MOV result.color, R0.x;")  # fmt: skip
    assert [s.value.axes for s in composed[1:]] == [ALONG_X, NOWHERE]
