"""What programs take, against the specification: its own examples, its pseudocode, hand counts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpgpu_legacy.count.resources import Resource, Resources, resources
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.languages.shaders import load_program


def taken(*lines: str) -> Resources:
    return resources(assemble("\n".join(["!!ARBfp1.0", *lines, "END"]) + "\n"))


# Texture indirections: issue (24) ----------------------------------------------------------------

SPEC_1 = ("MOV result.color, fragment.color;",)
SPEC_2 = (
    "TEMP myColor;",
    "MUL myColor, fragment.texcoord[0], fragment.texcoord[1];",
    "TEX result.color, myColor, texture[0], 2D;",
)
SPEC_3 = (
    "TEMP myColor1, myColor2;",
    "TEX myColor1, fragment.texcoord[0], texture[0], 2D;",
    "MUL myColor1, myColor1, myColor1;",
    "TEX myColor2, fragment.texcoord[1], texture[1], 2D;",
    "# so far we still only have 1 indirection",
    "TEX myColor2, myColor1, texture[2], 2D;      # This is #2",
    "TEX result.color, myColor2, texture[3], 2D;  # And #3",
)


@pytest.mark.parametrize(("lines", "count"), [(SPEC_1, 1), (SPEC_2, 2), (SPEC_3, 3)])
def test_the_examples_of_the_specification(lines: tuple[str, ...], count: int) -> None:
    assert taken(*lines).count(Resource.INDIRECTIONS) == count


def test_who_opened_the_nodes_of_the_third_example() -> None:
    nodes = taken(*SPEC_3).nodes
    assert [(n.number, n.is_result, n.register) for n in nodes] == [
        (1, False, ""),
        (2, False, "myColor1"),
        (3, False, "myColor2"),
    ]
    assert nodes[1].opener is not None
    assert nodes[1].opener.span.line == 7
    assert nodes[1].why == (
        "line 7: TEX looks up at myColor1, which MUL of line 4 writes in the same node"
    )
    assert nodes[2].why.endswith("which TEX of line 7 writes in the same node")
    assert not any(node.avoidable for node in nodes)
    assert taken(*SPEC_3).least_indirections == 3


def test_multichannel_has_one_more_than_its_block() -> None:
    """9 at b = 8 is what a hardware driver counts (shared measurements); 33 at b = 32 follows."""
    for block, count in ((1, 2), (8, 9), (32, 33)):
        program = load_program(
            "hall_carr_hart_2003/multi.fp.j2",
            block=block, accumulate="copy", transpose_a=False, transpose_b=False,
        )  # fmt: skip
        actual = resources(program)
        assert actual.count(Resource.INDIRECTIONS) == len(actual.nodes) == count
        assert actual.least_indirections == 2


def test_a_lookup_waits_for_what_its_coordinate_is_made_of_alone() -> None:
    """DP3C does not read w, which the second lookup gives, nor the c before it, nor TEX z and w."""
    actual = taken(
        "OPTION NV_fragment_program; TEMP a, b, c;",
        "TEX a, fragment.texcoord[0], texture[0], 2D;",
        "TEX a, a, texture[0], 2D;",
        "MOV b.xyz, fragment.color;",
        "MOV b.w, a;",
        "MOVC c, a;",
        "DP3C c.xy, b, b;",
        "TEX result.color, c, texture[0], 2D;",
    )
    assert [node.least for node in actual.nodes] == [1, 2, 2]
    assert actual.nodes[2].avoidable
    assert actual.least_indirections == 2


@dataclass(frozen=True)
class Step:
    """An instruction of the pseudocode: a texture instruction or not, its registers by number.

    A number from 0 on is a temporary, -1 something else; output None is KIL's.
    """

    texture: bool
    inputs: tuple[int, ...]
    output: int | None

    @property
    def text(self) -> str:
        sources = [f"t{i}" if i >= 0 else "fragment.texcoord[0]" for i in self.inputs]
        if self.output is None:
            return f"KIL {sources[0]};"
        result = f"t{self.output}" if self.output >= 0 else "result.color"
        if self.texture:
            return f"TEX {result}, {sources[0]}, texture[0], 2D;"
        mnemonic = {1: "MOV", 2: "ADD", 3: "MAD"}[len(sources)]
        return f"{mnemonic} {result}, {', '.join(sources)};"


def by_the_pseudocode(steps: list[Step]) -> int:
    """Issue (24), line by line, with its bit sets."""
    indirections, temps_output, alu_temps = 1, 0, 0
    for i in steps:
        temporary = i.output is not None and i.output >= 0
        if i.texture:
            coordinate = i.inputs[0]
            dependent = coordinate >= 0 and temps_output & (1 << coordinate)
            reused = temporary and alu_temps & (1 << i.output)  # type: ignore[operator]
            if dependent or reused:
                indirections += 1
                temps_output = alu_temps = 0
        else:
            for register in i.inputs:
                if register >= 0:
                    alu_temps |= 1 << register
            if temporary:
                alu_temps |= 1 << i.output  # type: ignore[operator]
        if temporary:
            temps_output |= 1 << i.output  # type: ignore[operator]
    return indirections


def renamed(steps: list[Step]) -> list[Step]:
    """Every result in a temporary of its own, and its readers after it."""
    latest = {register: register for register in range(-1, 4)}
    steps_ = []
    for number, step in enumerate(steps, 4):
        inputs = tuple(latest[register] for register in step.inputs)
        writes = step.output is not None and step.output >= 0
        if writes:
            latest[step.output] = number  # type: ignore[index]
        steps_.append(replace(step, inputs=inputs, output=number if writes else step.output))
    return steps_


REGISTERS = st.integers(-1, 3)
STEPS = st.one_of(
    st.builds(Step, st.just(True), st.tuples(REGISTERS), st.one_of(st.none(), REGISTERS)),
    st.builds(
        Step, st.just(False), st.lists(REGISTERS, min_size=1, max_size=3).map(tuple), REGISTERS
    ),
)


@given(st.lists(STEPS, max_size=25))
def test_indirections_are_those_of_the_pseudocode(steps: list[Step]) -> None:
    actual = taken("TEMP t0, t1, t2, t3;", *(step.text for step in steps))
    assert actual.count(Resource.INDIRECTIONS) == by_the_pseudocode(steps)
    assert actual.renamed_indirections == by_the_pseudocode(renamed(steps))
    assert 1 <= actual.least_indirections <= actual.renamed_indirections <= len(actual.nodes)
    assert all(1 <= node.least <= node.number for node in actual.nodes)


# The other resources: section 3.11.3.6 -----------------------------------------------------------


def test_instructions_by_kind_a_kill_being_a_texture_instruction() -> None:
    actual = taken(
        "TEMP a;", "KIL fragment.color;", "TXP a, fragment.texcoord[0], texture[0], 2D;",
        "MUL a, a, a;", "MOV_SAT result.color, a;",
    )  # fmt: skip
    assert actual.count(Resource.ALU_INSTRUCTIONS) == 2
    assert actual.count(Resource.TEXTURE_INSTRUCTIONS) == 2
    assert actual.count(Resource.INSTRUCTIONS) == 4


def test_the_paper_s_counts_of_multichannel_at_32() -> None:
    """Section 5.2: 3b + 4 and 2b + 1; Section 4.3's 6 + 5b has END or the write in it."""
    program = load_program(
        "hall_carr_hart_2003/multi.fp.j2",
        block=32, accumulate="copy", transpose_a=False, transpose_b=False,
    )  # fmt: skip
    actual = resources(program)
    assert actual.count(Resource.ALU_INSTRUCTIONS) == 100
    assert actual.count(Resource.TEXTURE_INSTRUCTIONS) == 65
    assert actual.count(Resource.INSTRUCTIONS) + 1 == 166
    assert actual.count(Resource.TEMPORARIES) == 5


def test_temporaries_are_counted_as_declared_and_aliases_are_none() -> None:
    actual = taken("TEMP a, b, unused;", "ALIAS c = a;", "MOV c, 0;", "MOV result.color, c;")
    assert actual.count(Resource.TEMPORARIES) == 3


def test_an_array_binds_its_elements_though_none_is_read() -> None:
    actual = taken(
        "PARAM a[] = { program.env[2..4], program.local[7], {0.5} };",
        "PARAM again = program.env[3];",
        "MOV result.color, program.local[7];",
    )
    assert actual.count(Resource.PARAMETERS) == 5
    assert actual.count(Resource.ENV_PARAMETERS) == 5  # indices up to 4
    assert actual.count(Resource.LOCAL_PARAMETERS) == 8


def test_attributes_count_once_and_when_declared_alone() -> None:
    actual = taken(
        "ATTRIB unused = fragment.texcoord[5];",
        "ATTRIB color = fragment.color;",
        "ADD result.color, color, fragment.color.primary;",
    )
    assert actual.count(Resource.ATTRIBUTES) == 2
    assert actual.count(Resource.COORDINATE_SETS) == 6  # texcoord[5] asks for six


@pytest.mark.parametrize(("option", "instructions"), [("exp", 3), ("exp2", 4), ("linear", 2)])
def test_fog_takes_its_share(option: str, instructions: int) -> None:
    """Section 3.11.4.5.1."""
    plain = ("TEMP a;", "MOV a, 0.5;", "TEX result.color, a, texture[0], 1D;")
    without, fogged = taken(*plain), taken(f"OPTION ARB_fog_{option};", *plain)
    more = {
        resource: fogged.count(resource) - without.count(resource)
        for resource in Resource
        if fogged.count(resource) != without.count(resource)
    }
    assert more == {
        Resource.ALU_INSTRUCTIONS: instructions,
        Resource.INSTRUCTIONS: instructions,
        Resource.TEMPORARIES: 1,
        Resource.ATTRIBUTES: 1,
        Resource.PARAMETERS: 2,
    }


def test_the_use_that_goes_over_a_limit_is_found() -> None:
    usage = taken(
        "TEMP a;", "MOV a, 0;", "ADD a, a, 1;", "ADD result.color, a, 2;"
    ).usage(Resource.ALU_INSTRUCTIONS)  # fmt: skip
    over = usage.first_beyond(2)
    assert over is not None
    assert over.span is not None
    assert (over.what, over.span.line) == ("ADD", 5)
    assert usage.first_beyond(3) is None
