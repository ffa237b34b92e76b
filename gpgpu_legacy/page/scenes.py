"""Scenes: a plan as data for the scripts of the page's player.

A scene has the record of plan.json and whatever only the package can compute: decoded programs,
values of GL state, costs, and shaders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import lru_cache
from itertools import chain, zip_longest
from typing import Any

from gpgpu_legacy.count.instructions import count_instructions
from gpgpu_legacy.count.traffic import count_pass
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.opcodes import NV_OPTIONS
from gpgpu_legacy.isa.program import (
    COMPONENTS,
    CONDITION,
    FOG_COORDINATE,
    Attribute,
    AttributeKind,
    Body,
    Branch,
    DestinationRegister,
    Instruction,
    Parameter,
    ParameterSpace,
    Program,
    Repetition,
    ResultKind,
    ResultRegister,
    SourceRegister,
    Src,
    Temporary,
)
from gpgpu_legacy.isa.state import state_vector
from gpgpu_legacy.isa.statements import Function
from gpgpu_legacy.languages.arb.printer import disassemble, operand_texts
from gpgpu_legacy.languages.texenv.stages import stages
from gpgpu_legacy.lower.analysis.fusion import decide, undecided
from gpgpu_legacy.lower.emit.glsl import PARAMETERS, attribute_name
from gpgpu_legacy.lower.emit.glsl_fragment import GLSL_ES, fragment_shader, size_name, vertex_shader
from gpgpu_legacy.lower.emit.javascript import function_text
from gpgpu_legacy.lower.emit.text import identifier
from gpgpu_legacy.lower.fragments import ShaderKey, fails_function, shader_key, write_function
from gpgpu_legacy.lower.sampling import SampledUnit, lod_function, lookup_function, place_function
from gpgpu_legacy.page.definitions import DEFINITIONS
from gpgpu_legacy.plan.expand import at_iteration, is_written_out
from gpgpu_legacy.plan.numbers import Affine
from gpgpu_legacy.plan.plan import ComputePass, CopyPass, FragmentPass, Pass, Plan, state_values
from gpgpu_legacy.plan.serialise import constant_record, plan_record, program_names
from gpgpu_legacy.plan.textures import Filter, Rect, constant_rect
from gpgpu_legacy.serial import Record, plain

INTERPRETER = (DEFINITIONS, "player/plan.js", "player/interpreter.js")
"""The scripts that play scenes without a GPU."""

PLAYER = (*INTERPRETER, "player/webgl.js", "player/player.js")
"""The scripts that play scenes, on a GPU if there is one."""

Scene = dict[str, Any]


def scene_of(plan: Plan) -> Scene:
    """The scene of a plan.

    `plan`: its record; texture environments have the text of the program that says the same, with
    their state beside it. `programs`: by their names in the plan, from `decoded_program`.
    `state`: for each step the values of GL state that each of its passes reads, by name; a number
    that changes from iteration to iteration is a list. `counts`: for each step the cost of each of
    its passes, with the names of Counts (count/traffic.py): `fixed`, and `each` for every fragment
    or texel of its rectangle. `code`: see `_code`. `shaders`: for textures of any size
    (see `Shaders`). Raises InputError for a texture whose format is not one of FORMATS.
    """
    names = program_names(plan)
    record = plain(plan_record(plan))
    if names:
        record["programs"] = {name: _text(program) for program, name in names.items()}
    return {
        "name": plan.name,
        "plan": record,
        "programs": {name: decoded_program(program) for program, name in names.items()},
        "state": [[_state(pass_, step.count) for pass_ in step.body] for step in plan.repeats()],
        "counts": [[_counts(plan, pass_) for pass_ in step.body] for step in plan.repeats()],
        "code": _code(plan),
        "shaders": plain(shaders_of(plan, sized=False)),
    }


# Programs ------------------------------------------------------------------------------------


def _text(program: Program) -> str:
    """A program's text, with the state of each texture environment beside its first instruction."""
    lines, states = disassemble(program).splitlines(), stages(program)
    for place, instruction in enumerate(program.instructions, -len(program.instructions) - 1):
        is_stage = instruction.texture is None
        if is_stage and (state := states.pop(instruction.span.line, "")):
            lines[place] += f"  # {state}"
    return "\n".join([*lines, ""])


_Numbers = dict[SourceRegister | DestinationRegister, int]


@lru_cache(maxsize=256)
def decoded_program(program: Program) -> dict[str, Any]:
    """A program for a machine that knows registers by number.

    `registers`: temporaries, and the constants, attributes, parameters and results that
    instructions use. `colors`: the register of each result.color. `line`: that of the first
    instruction in the program's text in plan.json; each instruction has a line of its own. `forms`:
    the distinct instructions; `order`: which of them each instruction is. `jumps`: by the number of
    an instruction, the number to jump to: past the side or the loop that is not executed, or back
    to the start of a loop. In a source's swizzle 4 is the constant 0, and 5 is 1. `counts`: of
    instructions, by their cost.
    """
    numbers: _Numbers = {}
    if program.fog is not None:
        numbers[FOG_COORDINATE] = 0
    colors = [
        numbers.setdefault(ResultRegister(ResultKind.COLOR, n), len(numbers))
        for n in range(program.color_outputs)
    ]
    forms: dict[Instruction, int] = {}
    order = [forms.setdefault(i, len(forms)) for i in program.instructions]
    lines = len(disassemble(program).splitlines())
    decoded = [_decoded(instruction, numbers) for instruction in forms]
    return {
        "registers": [_register(register) for register in numbers],
        "colors": colors,
        "separate": program.has_separate_colors,
        "fog": None if program.fog is None else program.fog.value,
        "line": lines - len(order),  # END is the last line
        "forms": decoded,
        "order": order,
        **({"jumps": _jumps(program.body)} if program.branches else {}),
        "counts": asdict(count_instructions(program)),
    }


def _decoded(instruction: Instruction, numbers: _Numbers) -> dict[str, Any]:
    dst, texture, texts = instruction.dst, instruction.texture, operand_texts(instruction)
    decoded: dict[str, Any] = {
        "op": instruction.mnemonic,
        "srcs": [
            _source(src, text, numbers)
            for src, text in zip(instruction.srcs, texts.sources, strict=True)
        ],
    }
    if dst is not None:
        decoded["dst"] = numbers.setdefault(dst.register, len(numbers))
        decoded["mask"] = "".join(COMPONENTS[c] for c in dst.components)
    if instruction.saturate:
        decoded["saturate"] = True
    if instruction.sets_condition:
        decoded["stores"] = [decoded["dst"], numbers.setdefault(CONDITION, len(numbers))]
    if instruction.test is not None:
        test = _source(instruction.test.src, "", numbers)
        decoded["test"] = {**test, "relation": instruction.test.relation}
    if texture is not None:
        decoded["texture"] = {"unit": texture.unit, "target": texture.target.value}
    return decoded


def _source(src: Src, text: str, numbers: _Numbers) -> dict[str, Any]:
    source: dict[str, Any] = {
        "text": text,
        "register": numbers.setdefault(src.register, len(numbers)),
        "swizzle": [selector.value for selector in src.swizzle],
    }
    if any(src.negate):
        source["negate"] = src.negate
    if src.absolute:
        source["absolute"] = True
    return source


def _jumps(body: Body, after: int = 0) -> dict[int, int]:
    """Where branches, breaks and the ends of loops lead, by the number of the instruction.

    after: the instruction behind the loop that a break leaves.
    """
    jumps: dict[int, int] = {}
    for part, behind in zip_longest(body, body[1:]):
        match part:
            case (number, Instruction(mnemonic="BRK")):
                jumps[number] = after
            case Branch(head=(number, _), then=then):
                end = _number(behind)  # the ENDIF
                jumps |= _jumps(then, after) | _jumps(part.otherwise, after) | {number: end}
                match then:
                    case (*_, (last, Instruction(mnemonic="ELSE"))):
                        jumps |= {number: last + 1, last: end}
            case Repetition(head=(number, _), body=inner):
                end = _number(inner[-1])
                jumps |= _jumps(inner, end + 1) | {number: end + 1, end: number + 1}
    return jumps


def _number(step: object) -> int:
    """The number of an instruction that is no head of a branch or a loop."""
    assert isinstance(step, tuple)
    number, _ = step
    return int(number)


def _register(register: SourceRegister | DestinationRegister) -> dict[str, Any]:
    match register:
        case Temporary(name=name):
            return {"kind": "temporary", "name": name}
        case Attribute(kind=kind, index=index):
            return {"kind": "attribute", "name": kind.value, "index": index}
        case ResultRegister(kind=result, index=index):
            return {"kind": "result", "name": result.value, "index": index}
        case Parameter(space=ParameterSpace.CONSTANT, value=value):
            return {"kind": "constant", "value": list(map(constant_record, value))}
        case Parameter(space=ParameterSpace.STATE, binding=binding):
            return {"kind": "state", "name": binding}
    return {"kind": register.space.value, "index": register.index}


# Passes ----------------------------------------------------------------------------------------


def _state(pass_: Pass, count: int) -> dict[str, Any]:
    """The state vectors that a pass's program reads."""
    if not isinstance(pass_, FragmentPass):
        return {}
    values: dict[str, Any] = {}
    for binding in pass_.program.state_needed:
        states = (state_values(at_iteration(pass_, i)) for i in range(count))
        vectors = [map(constant_record, state_vector(binding, state)) for state in states]
        values[binding] = [
            column[0] if len({*column}) == 1 else column for column in zip(*vectors, strict=True)
        ]
    return values


def _code(plan: Plan) -> dict[str, Any]:
    """The lookups and writes of passes as functions of JavaScript.

    `texts`: the functions, each once. `passes`: for each step and pass, their numbers in `texts`.
    `units`: of each binding the `lookup`, its level of detail `lod` or None, the place of the
    `nearest` texel, and whether a filter is `linear`. `writes`: of each target, from a colour to
    its texel. `fails`: the alpha test, or None.
    """
    texts: dict[str, int] = {}

    def number(function: Function, head: str = "", unit: SampledUnit | None = None) -> int:
        return texts.setdefault(function_text(function, head, unit), len(texts))

    def of(pass_: Pass) -> dict[str, Any] | None:
        if not isinstance(pass_, FragmentPass):
            return None
        _refuse_quads_of_options(pass_)
        bare = replace(pass_, texcoords=(), attributes=())  # which change neither
        key = shader_key(plan, bare, undecided(pass_.program), exact=True, drawn=False)
        return {
            "units": [
                {
                    "lookup": number(lookup_function(0, unit), LOOKUP, unit),
                    "lod": number(lod_function(0, unit)) if unit.sampler.has_lod else None,
                    "nearest": number(place_function(0, unit), LOOKUP, unit),
                    "linear": Filter.LINEAR in unit.sampler.filters,
                }
                for unit in key.units
            ],
            "writes": [
                number(write_function(key, n), "color, fogcoord, held, state")
                for n in range(len(key.targets))
            ],
            "fails": None if key.writes.alpha_test is None else number(fails_function(key)),
        }

    passes = [[of(pass_) for pass_ in step.body] for step in plan.repeats()]
    return {"texts": [*texts], "passes": passes}


def _refuse_quads_of_options(pass_: FragmentPass) -> None:
    program = pass_.program
    if any(option in NV_OPTIONS for option in program.options) and (
        pass_.in_quads or any(i.opcode.gives_lod for i in program.instructions)
    ):
        raise InputError(
            f"{program.name} has OPTION {program.options[-1]} and needs derivatives or levels "
            "of detail, which pages do not play together; see what its fragments execute by "
            "`gpgpu-legacy trace`"
        )


LOOKUP = "data, s, t, r, lod, bias"
"""The parameters of lookups; each lookup uses some of them."""


def _counts(plan: Plan, pass_: Pass) -> dict[str, dict[str, int]]:
    """The cost of a pass: `fixed`, and `each` for every fragment or texel of its rectangle."""
    if isinstance(pass_, ComputePass):
        return {"fixed": {}, "each": {}}

    def costs(width: int) -> Counter[str]:
        """The costs of the pass on a rectangle of that width and a height of 1, if it has one."""
        rect, on_rect = Rect(0, 0, width, 1), pass_
        match pass_:
            case FragmentPass():
                on_rect = replace(pass_, rect=rect)
            case CopyPass():
                on_rect = replace(pass_, source_rect=rect, target_rect=rect)
        counts = asdict(count_pass(plan, on_rect))
        return Counter({name: n for name, n in counts.items() if not name.startswith("vert")})

    one, two = costs(1), costs(2)
    return {"fixed": one - (two - one), "each": two - one}


# Shaders ------------------------------------------------------------------------------------------


class AttributeUniforms(Record, omit_defaults=True):
    """An attribute, whose planes are the uniforms `NAME_base`, `NAME_dx` and `NAME_dy`.

    kind: as plan.json has it. set: of texture coordinates. bent: whether the two triangles differ,
    so that the uniforms are arrays of two planes.
    """

    kind: AttributeKind
    set: int = 0
    bent: bool = False


class PageShader(Record, omit_defaults=True):
    """The texts of a vertex and a fragment shader, and the meanings of their uniforms, by name.

    These may include uniforms that the texts do not have. locals, env: the index of a parameter.
    state: a vector's canonical name. sizes: the unit of the texture. Others are `textureN`, of unit
    N; `origin` and `size`, the rectangle's corner and extent; `varyingN_corners`, which each pass
    has; and `zero`, which stays 0.
    """

    vertex: str
    fragment: str
    attributes: Mapping[str, AttributeUniforms] = {}
    locals: Mapping[str, int] = {}
    env: Mapping[str, int] = {}
    state: Mapping[str, str] = {}
    sizes: Mapping[str, int] = {}
    units: tuple[int, ...] = ()


class PassShader(Record, omit_defaults=True):
    """The shader that draws a pass, by its number.

    varyings: the corners of each, as fractions of a texture's extent, x and y at (0, 0), (W, 0),
    (W, H) and (0, H).
    """

    shader: int
    varyings: tuple[tuple[Affine, ...], ...] = ()


class Shaders(Record):
    """The shaders of a plan. passes: for each step the shader of each pass, or None."""

    texts: tuple[PageShader, ...]
    passes: tuple[tuple[PassShader | None, ...], ...]


def shaders_of(plan: Plan, *, sized: bool) -> Shaders:
    """The shaders of a plan's passes, each distinct one once.

    sized: whether the sizes of textures are constants of the texts, which is faster; otherwise the
    texts work for textures of any size.
    """
    known: dict[tuple[str, str], PageShader] = {}

    def of(pass_: Pass, count: int) -> PassShader | None:
        """The shader of a pass that runs that many times."""
        if not isinstance(pass_, FragmentPass) or not count:
            return None
        singles, decisions = [pass_], undecided(pass_.program)
        if is_written_out(pass_):
            singles = [at_iteration(pass_, i) for i in range(count)]
        elif sized:  # a lookup is folded if the code knows sizes, and only Affine numbers change
            decisions = decide(plan, pass_)
        keys = [shader_key(plan, p, decisions, exact=True, sized=sized) for p in singles]
        # An attribute that is bent in any iteration has two planes in all.
        bent = tuple(dict.fromkeys(chain(*(key.bent for key in keys))))
        shader = _shader(replace(keys[0], bent=bent))
        texts = (shader.vertex, shader.fragment)
        known.setdefault(texts, shader)
        return PassShader(
            shader=[*known].index(texts),
            varyings=tuple(v.corners(constant_rect(pass_.rect)) for v in decisions.varyings),
        )

    passes = tuple(tuple(of(pass_, step.count) for pass_ in step.body) for step in plan.repeats())
    return Shaders(texts=tuple(known.values()), passes=passes)


def _shader(key: ShaderKey) -> PageShader:
    program = key.program
    return PageShader(
        vertex=vertex_shader(key.varyings, GLSL_ES),
        fragment=fragment_shader(key, GLSL_ES),
        attributes={
            attribute_name(attribute): AttributeUniforms(
                kind=attribute.kind,
                set=attribute.index,
                bent=attribute in key.bent,
            )
            for attribute in program.attributes_needed
            if attribute.kind is not AttributeKind.POSITION
        },
        locals=_parameters(program, ParameterSpace.LOCAL),
        env=_parameters(program, ParameterSpace.ENV),
        state={identifier(b): b for b in program.state_needed},
        sizes={size_name(u.number): u.number for u in key.units if u.extent is None},
        units=tuple(unit.number for unit in key.units),
    )


def _parameters(program: Program, space: ParameterSpace) -> dict[str, int]:
    return {f"{PARAMETERS[space]}{index}": index for index in program.parameter_indices(space)}
