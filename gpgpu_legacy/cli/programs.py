"""Commands about fragment programs: run any of them, check, count, translate, print them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpgpu_legacy.cli.shared import ExecutorName, Json, app, console, print_json
from gpgpu_legacy.errors import AssemblyError, InputError

if TYPE_CHECKING:
    from gpgpu_legacy.api.drawing import Drawing
    from gpgpu_legacy.api.trace import Trace
    from gpgpu_legacy.isa.arithmetic import Arithmetic
    from gpgpu_legacy.isa.ir import Program

ProgramFile = Annotated[
    Path, typer.Argument(metavar="PROG.fp", help="The program's text; - is standard input.")
]
ProgramFiles = Annotated[
    list[Path], typer.Argument(metavar="PROG.fp ...", help="Programs' texts; - is standard input.")
]


class Language(Enum):
    """What programs are translated to."""

    GLSL = "glsl"
    GLSL_COMPUTE = "glsl-compute"
    NUMPY = "numpy"


# Commands -------------------------------------------------------------------------------------


@app.command("exec")
def exec_command(
    program: ProgramFile,
    size: Annotated[
        str | None, typer.Option(metavar="WxH", help="Width and height of what is drawn.")
    ] = None,
    width: Annotated[int | None, typer.Option(help="The same, apart.")] = None,
    height: Annotated[int | None, typer.Option(help="The same, apart.")] = None,
    texture: Annotated[
        list[str] | None,
        typer.Option(
            metavar="UNIT=FILE[,TARGET][,FILTER][,WRAP]",
            help="A .npy array, row 0 the bottom one, or a picture, which is flipped to be so. "
            "Target, filter and wrap by GL's names; the program's target, nearest and "
            "clamp-to-edge without.",
        ),
    ] = None,
    local: Annotated[
        list[str] | None, typer.Option(metavar="I=X,Y,Z,W", help="program.local[I].")
    ] = None,
    env: Annotated[
        list[str] | None, typer.Option(metavar="I=X,Y,Z,W", help="program.env[I].")
    ] = None,
    texcoord: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SET=NUMBERS",
            help="16 numbers, 4 at each of the corners (0,0), (W,0), (W,H), (0,H), or 4 for all, "
            "or a .npy. Set 0 without: pixel coordinates.",
        ),
    ] = None,
    color: Annotated[
        str | None, typer.Option(metavar="R,G,B,A", help="fragment.color; or 16, as of texcoord.")
    ] = None,
    secondary_color: Annotated[
        str | None, typer.Option(metavar="R,G,B,A", help="fragment.color.secondary, likewise.")
    ] = None,
    fogcoord: Annotated[
        str | None, typer.Option(metavar="F", help="fragment.fogcoord; or 4, one a corner.")
    ] = None,
    state: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=NUMBERS", help="GL state, as fog.color=1,0,0,1; 16 for a matrix."
        ),
    ] = None,
    clear: Annotated[
        str, typer.Option(metavar="R,G,B,A", help="What discarded fragments leave.")
    ] = "0,0,0,0",
    blend: Annotated[str, typer.Option(help="none, or add: to what --clear left.")] = "none",
    draw_buffers: Annotated[
        int | None, typer.Option(metavar="N", help="Keep result.color[0] to [N-1].")
    ] = None,
    executor: ExecutorName = "auto",
    exact: Annotated[bool, typer.Option("--exact", help="Contract no multiply-add.")] = False,
    arithmetic: Annotated[
        str, typer.Option(help="Of the registers: fp32, fp24, fp16, fx12, rc9.")
    ] = "fp32",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Write a .npy, or r, g and b as a .png, flipped to stand upright.",
        ),
    ] = None,
    trace: Annotated[
        str | None, typer.Option(metavar="X,Y", help="Print one fragment, step by step.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a fragment program on a rectangle of pixels."""
    from gpgpu_legacy.api.drawing import DrawArguments, make_drawing
    from gpgpu_legacy.api.programs import discarded, pictures, run_drawing
    from gpgpu_legacy.api.programs_table import run_as_json
    from gpgpu_legacy.api.texels import texel_writer
    from gpgpu_legacy.isa.arithmetic import find_arithmetic
    from gpgpu_legacy.runtime.executor import Machine

    write = texel_writer(output, draw_buffers or 1) if output else None
    assembled = _assemble(program)
    machine = Machine(exact, find_arithmetic(arithmetic))
    arguments = DrawArguments(
        textures=_textures(texture or [], assembled),
        local=_indexed("--local", local),
        env=_indexed("--env", env),
        texcoords={key: _corners("--texcoord", v) for key, v in _pairs("--texcoord", texcoord)},
        color=None if color is None else _corners("--color", color),
        secondary_color=(
            None if secondary_color is None else _corners("--secondary-color", secondary_color)
        ),
        fogcoord=None if fogcoord is None else _fogcoord(fogcoord),
        state=_state(state or []),
        clear=_numbers("--clear", clear),
        blend=blend,
        draw_buffers=draw_buffers,
    )
    drawing = make_drawing(assembled, *_size(size, width, height), arguments=arguments)
    followed = None if trace is None else _trace(drawing, trace, machine.arithmetic)
    found, result = run_drawing(drawing, executor, machine)
    images = pictures(drawing, result)
    if write is not None:
        write(images if drawing.keeps_buffers else images[0])
    if followed is not None and not as_json:
        from gpgpu_legacy.api.programs_table import trace_as_text

        print(trace_as_text(followed), end="")
    elif as_json or write is None:
        lost = discarded(drawing, found, machine)
        data = run_as_json(images, lost, found.name, found.device(), result.timings)
        _print_run(data, assembled.name, followed, as_json=as_json)
    if write is not None and not as_json:
        print(f"wrote {output}")


@app.command()
def check(
    programs: ProgramFiles,
    chip: Annotated[
        str | None, typer.Option(metavar="NAME", help="Would it have loaded on this one?")
    ] = None,
    as_json: Json = False,
) -> None:
    """Assemble programs and say what they take: exit 2 where one does not, 1 where the chip won't.

    With --chip, the verdict of one chip of the time, limit by limit.
    """
    profile = None
    if chip is not None:
        from gpgpu_legacy.chips.profile import find_profile

        profile = find_profile(chip)
    reports: list[dict[str, Any]] = []
    status = 0
    for path in programs:
        try:
            program = _assemble(path)
        except AssemblyError as error:
            status = 2
            reports.append(_faults_as_json(error))
            if not as_json:
                print(error, file=sys.stderr)
            continue
        loads, report = _check(program, profile, as_json=as_json)
        reports.append(report)
        status = max(status, 0 if loads else 1)
    if as_json:
        print_json({"programs": reports})
    if status:
        sys.exit(status)


@app.command()
def count(
    program: ProgramFile,
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            metavar="[UNIT|target=]FORMAT",
            help="Of the texels, for counting bytes; rgba32f without.",
        ),
    ] = None,
    size: Annotated[
        str | None, typer.Option(metavar="WxH", help="Count for so many fragments too.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Count what a fragment of a program executes and asks for, and what the program takes."""
    from gpgpu_legacy.api.programs_table import counts_as_json, counts_grids, formats_of
    from gpgpu_legacy.present.grid import print_text

    area = None if size is None else _width_and_height(size)
    assembled = _assemble(program)
    pairs = (each.rpartition("=")[::2] for each in formats or [])
    chosen = formats_of(assembled, {place.strip(): name.strip() for place, name in pairs})
    if as_json:
        print_json(counts_as_json(assembled, chosen, area))
    else:
        print_text(counts_grids(assembled, chosen, area), console())


@app.command()
def translate(
    program: ProgramFile,
    to: Annotated[Language, typer.Option("--to", help="The language.")],
    exact: Annotated[
        bool, typer.Option("--exact", help="GLSL that contracts no multiply-add.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The file to write.")
    ] = None,
) -> None:
    """Print a program as a GLSL fragment shader, a GLSL compute shader or a Python module."""
    assembled = _assemble(program)
    _write_or_print(_translators()[to](assembled, exact), output)


@app.command("disassemble")
def disassemble_command(
    program: ProgramFile,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The file to write.")
    ] = None,
) -> None:
    """Print a program in its canonical form, which assembles to the same program."""
    from gpgpu_legacy.languages.registry import language_of

    text, name = _read(program)
    language = language_of(text)
    _write_or_print(language.disassemble(language.assemble(text, name)), output)


# What they share ------------------------------------------------------------------------------


def _assemble(path: Path) -> Program:
    from gpgpu_legacy.languages.registry import language_of

    text, name = _read(path)
    return language_of(text).assemble(text, name)


def _read(path: Path) -> tuple[str, str]:
    """The text of a program, and what messages call it; `-` is standard input."""
    from gpgpu_legacy.files import read_text

    if str(path) == "-":
        return sys.stdin.buffer.read().decode("utf-8", "replace"), "standard input"
    return read_text(path), str(path)


def _write_or_print(text: str, output: Path | None) -> None:
    if output is None:
        print(text, end="")
        return
    from gpgpu_legacy.files import write_text

    write_text(output, text)
    print(f"wrote {output}")


def _translators() -> dict[Language, Callable[[Program, bool], str]]:
    from gpgpu_legacy.lower.glsl import fragment_shader, program_key
    from gpgpu_legacy.lower.numpy_source import numpy_source

    def glsl_compute(program: Program, exact: bool) -> str:
        from gpgpu_legacy.lower.compute import compute_shader

        return compute_shader(program_key(program, exact=exact))

    return {
        Language.GLSL: lambda program, exact: fragment_shader(program_key(program, exact=exact)),
        Language.GLSL_COMPUTE: glsl_compute,
        Language.NUMPY: lambda program, _: numpy_source(program),
    }


def _trace(drawing: Drawing, text: str, arithmetic: Arithmetic) -> Trace:
    from gpgpu_legacy.api.trace import trace

    parts = text.split(",")
    if len(parts) != 2 or not all(part.strip().isdigit() for part in parts):
        raise InputError(f"--trace is {text!r}; give a column and a row, as in --trace 3,0")
    return trace(drawing, int(parts[0]), int(parts[1]), arithmetic)


def _print_run(data: dict[str, Any], name: str, followed: Trace | None, *, as_json: bool) -> None:
    from gpgpu_legacy.api.programs_table import run_grids, trace_as_json
    from gpgpu_legacy.present.grid import print_text

    if as_json:
        print_json(data if followed is None else {**data, "trace": trace_as_json(followed)})
    else:
        print_text(run_grids(data, name), console())


def _faults_as_json(error: AssemblyError) -> dict[str, Any]:
    return {
        "program": error.name,
        "assembles": False,
        "diagnostics": [
            {
                "problem": each.problem,
                "expected": each.expected,
                "section": each.section,
                "line": each.line,
                "column": each.column,
                "position": each.position,
            }
            for each in error.diagnostics
        ],
    }


def _check(program: Program, profile: Any, *, as_json: bool) -> tuple[bool, dict[str, Any]]:
    """Whether a program would load, and what is said of it, printed if it is not for JSON."""
    from gpgpu_legacy.api.programs_table import resources_as_json, resources_grid
    from gpgpu_legacy.present.grid import print_text

    report = {
        "program": program.name,
        "assembles": True,
        "resources": resources_as_json(program),
    }
    if profile is None:
        if not as_json:
            print_text([resources_grid(program)], console())
        return True, report
    from gpgpu_legacy.chips.check import check_program
    from gpgpu_legacy.chips.table import verdict_grids
    from gpgpu_legacy.chips.verdict import Answer
    from gpgpu_legacy.serial import plain

    verdict = check_program(program, profile)
    if not as_json:
        print_text(verdict_grids(verdict, profile), console())
    return verdict.answer is not Answer.DOES_NOT_LOAD, {**report, **plain(verdict)}


# What is typed --------------------------------------------------------------------------------


def _size(size: str | None, width: int | None, height: int | None) -> tuple[int, int]:
    if size is not None:
        if width is not None or height is not None:
            raise InputError("give --size, or --width and --height, not both")
        return _width_and_height(size)
    if width is None or height is None:
        raise InputError("give the size of what is drawn, as in --size 256x256")
    return width, height


def _width_and_height(text: str) -> tuple[int, int]:
    parts = [part.strip() for part in text.lower().replace("×", "x").split("x")]
    if len(parts) not in {1, 2} or not all(part.isdecimal() for part in parts):
        raise InputError(f"--size is {text!r}; give a width and a height, as in --size 256x128")
    width, height = int(parts[0]), int(parts[-1])
    if min(width, height) < 1:
        raise InputError(f"--size is {text!r}; both must be at least 1")
    return width, height


def _pairs(option: str, given: list[str] | None) -> list[tuple[int, str]]:
    """INDEX=VALUE, each index once."""
    pairs: dict[int, str] = {}
    for each in given or []:
        key, equals, value = each.partition("=")
        if not equals or not key.strip().isdecimal():
            raise InputError(f"{option} is {each!r}; give an index and a value, as in {option} 0=…")
        if int(key) in pairs:
            raise InputError(f"{option} gives {int(key)} twice")
        pairs[int(key)] = value
    return list(pairs.items())


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            f"{option} has {text!r}; give numbers with commas, as in 1,0.5,0,1"
        ) from None


def _indexed(option: str, given: list[str] | None) -> dict[int, list[float]]:
    values = {}
    for index, text in _pairs(option, given):
        values[index] = _numbers(option, text)
        if len(values[index]) != 4:
            raise InputError(f"{option} {index} has {len(values[index])} numbers; give four")
    return values


def _corners(option: str, text: str) -> Any:
    """Four numbers, four at each corner, or an array in a file."""
    if text.lower().endswith(".npy"):
        from gpgpu_legacy.api.texels import read_texels

        return read_texels(Path(text))
    numbers = _numbers(option, text)
    if len(numbers) not in {4, 16}:
        raise InputError(
            f"{option} has {len(numbers)} numbers; give 4, or 16 for the corners (0,0), (W,0), "
            "(W,H), (0,H)"
        )
    return numbers if len(numbers) == 4 else [numbers[i : i + 4] for i in range(0, 16, 4)]


def _fogcoord(text: str) -> Any:
    numbers = _numbers("--fogcoord", text)
    return numbers[0] if len(numbers) == 1 else numbers


def _state(given: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for each in given:
        name, equals, text = each.partition("=")
        if not equals:
            raise InputError(f"--state is {each!r}; give a name and numbers, as fog.color=1,0,0,1")
        numbers = _numbers(f"--state {name}", text)
        matrix = [numbers[i : i + 4] for i in range(0, len(numbers), 4)]
        values[name.strip()] = matrix if len(numbers) == 16 else numbers
    return values


def _textures(given: list[str], program: Program) -> dict[int, tuple[Any, ...]]:
    """Textures from UNIT=FILE[,TARGET][,FILTER][,WRAP]; a file's name may have commas."""
    from gpgpu_legacy.api.samplers import is_sampler_word
    from gpgpu_legacy.api.texels import read_texels
    from gpgpu_legacy.isa.ir import TextureTarget

    targets = {target.value for target in TextureTarget}
    textures: dict[int, tuple[Any, ...]] = {}
    for unit, text in _pairs("--texture", given):
        parts, target, words = text.split(","), None, list[str]()
        while len(parts) > 1:
            word = parts[-1].strip()
            if word.upper() in targets and target is None:
                target = word
            elif is_sampler_word(word):
                words.insert(0, word)
            else:
                break
            parts.pop()
        looked_up = program.texture_units.get(unit, TextureTarget.T2D)
        texels = read_texels(Path(",".join(parts)))
        textures[unit] = (target or looked_up, texels, tuple(words))
    return textures
