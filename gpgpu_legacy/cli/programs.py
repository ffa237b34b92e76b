"""Commands about fragment programs: run, check, count, translate and print them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gpgpu_legacy.cli.completion import chip_names
from gpgpu_legacy.cli.draw_options import DrawOptions, SizeOptions, parse_size, parse_texel
from gpgpu_legacy.cli.options import Argument, Option, Several
from gpgpu_legacy.cli.shared import (
    Json,
    MachineOptions,
    OutputFile,
    app,
    print_json,
    print_tables,
    show,
)
from gpgpu_legacy.errors import AssemblyError, InputError

if TYPE_CHECKING:
    from gpgpu_legacy.api.check import ProgramReport
    from gpgpu_legacy.api.drawing import Drawing
    from gpgpu_legacy.chips.profile import Profile
    from gpgpu_legacy.chips.verdict import Verdict
    from gpgpu_legacy.isa.arithmetic import F32
    from gpgpu_legacy.isa.ir import Program
    from gpgpu_legacy.runtime.prepared import Observer

ProgramFile = Annotated[Path, Argument("PROG.fp", "A file with a program; - is standard input.")]
ProgramFiles = Annotated[
    Several[Path], Argument("PROG.fp...", "Files with programs; - is standard input.")
]


class Language(Enum):
    """The languages that programs are translated to."""

    GLSL = "glsl"
    GLSL_COMPUTE = "glsl-compute"
    GLSL_ES = "glsl-es"
    NUMPY = "numpy"


@dataclass(frozen=True)
class FilmOptions:
    """The passes as an animation."""

    animate: Annotated[
        Path | None, Option("FILE", "Write a frame for each pass, as .gif, .png or .apng.")
    ] = None
    scale: Annotated[
        int | None, Option("K", "Pixels along each side of a texel in pictures (default: 1).")
    ] = None

    def frames_of(self, drawing: Drawing) -> tuple[Observer | None, Callable[[], None] | None]:
        """What keeps the frames of a run, and what writes them; Nones without --animate."""
        from gpgpu_legacy.api.programs import frames_of

        if self.animate is None:
            return None, None
        return frames_of(drawing, self.animate, 1 if self.scale is None else self.scale)

    def writer(self, output: Path | None, buffers: int) -> Callable[[F32], None] | None:
        """What writes the colours to --output; None without it. buffers: of the program."""
        from gpgpu_legacy.api.texels import texel_writer

        if output is not None:
            return texel_writer(output, buffers, self.scale)
        if self.scale is not None and self.animate is None:
            raise InputError("--scale enlarges a picture; give -o FILE.png or --animate FILE, too")
        return None


# Commands -------------------------------------------------------------------------------------


@app.command("exec")
def exec_command(
    program: ProgramFile,
    rectangle: SizeOptions,
    reads: DrawOptions,
    machine: MachineOptions,
    film: FilmOptions,
    output: Annotated[
        Path | None,
        Option(
            "-o",
            "--output",
            "FILE",
            "Write the colours as .npy, or r, g and b as .png (row 0 at the bottom).",
        ),
    ] = None,
    trace: Annotated[
        str | None, Option("X,Y", "Print one fragment's way through every instruction (last pass).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a fragment program on a rectangle of pixels, once or with --passes many times."""
    from gpgpu_legacy.api.drawing import fed_back_size, make_drawing
    from gpgpu_legacy.api.programs import discarded, last_pass, pictures, run_drawing, warn_about
    from gpgpu_legacy.api.programs_table import program_run, run_grids
    from gpgpu_legacy.api.trace import trace as trace_of
    from gpgpu_legacy.api.trace_table import trace_as_text

    write = film.writer(output, reads.draw_buffers or 1)
    assembled, how = _assemble(program), machine.machine()
    arguments = reads.arguments(assembled)
    size = rectangle.parsed(fed_back_size(arguments))
    drawing = make_drawing(assembled, *size, arguments=arguments)
    observer, write_frames = film.frames_of(drawing)
    warn_about(drawing)
    traced = None
    if trace is not None:
        last = last_pass(drawing, machine.executor, how)
        traced = trace_of(last, *parse_texel("--trace", trace), how.arithmetic)
    executor, result = run_drawing(drawing, machine.executor, how, observer)
    images = pictures(drawing, result)
    if write is not None:
        write(images if drawing.keeps_buffers else images[0])
    if write_frames is not None:
        write_frames()
    if traced is not None and not as_json:
        print(trace_as_text(traced), end="")
    elif as_json or (write is None and write_frames is None):
        lost = discarded(drawing, executor, how)
        run = program_run(images, lost, executor, result.timings, traced)
        show(run, run_grids(run, assembled.name), as_json)
    for path in (output, film.animate):
        if path is not None and not as_json:
            print(f"wrote {path}")


@app.command()
def check(
    programs: ProgramFiles,
    chip: Annotated[
        str | None,
        Option("NAME", "A chip of the time; see `gpgpu-legacy chips`.", complete=chip_names),
    ] = None,
    as_json: Json = False,
) -> None:
    """Assemble programs, and say which resources they use.

    With --chip, compare them with the limits of a chip. The exit code is 2 if a program does not
    assemble, and 1 if one does not load on the chip.
    """
    from gpgpu_legacy.api.check import CheckedPrograms, checked, faulty

    profile = None
    if chip is not None:
        from gpgpu_legacy.chips.profile import find_profile

        profile = find_profile(chip)
    reports: list[ProgramReport] = []
    status = 0
    for path in programs:
        try:
            program = _assemble(path)
        except AssemblyError as error:
            status = 2
            reports.append(faulty(error))
            if not as_json:
                print(error, file=sys.stderr)
            continue
        verdict = None
        if profile is not None:
            from gpgpu_legacy.chips.check import check_program

            verdict = check_program(program, profile)
        reports.append(checked(program, verdict))
        if not as_json:
            _print_check(program, profile, verdict)
        if verdict is not None and verdict.exceeded:
            status = max(status, 1)
    if as_json:
        print_json(CheckedPrograms(programs=tuple(reports)))
    if status:
        sys.exit(status)


@app.command()
def count(
    program: ProgramFile,
    formats: Annotated[
        Several[str],
        Option(
            "--format",
            "[UNIT|target=]FORMAT …",
            "Format of a unit's or the target's texels, to count bytes (default: rgba32f).",
        ),
    ] = (),
    size: Annotated[str | None, Option("WxH", "Also count a rectangle of W×H fragments.")] = None,
    as_json: Json = False,
) -> None:
    """Count the instructions, bytes and resources that a program uses, per fragment."""
    from gpgpu_legacy.api.counts_table import count_program, counts_grids, formats_of

    area = None if size is None else parse_size(size)
    assembled = _assemble(program)
    pairs = (text.rpartition("=")[::2] for text in formats)
    chosen = formats_of(assembled, {place.strip(): name.strip() for place, name in pairs})
    counts = count_program(assembled, chosen, area)
    show(counts, counts_grids(assembled, counts), as_json)


@app.command()
def translate(
    program: ProgramFile,
    to: Annotated[Language, Option("The language to translate to.")],
    exact: Annotated[
        bool, Option("Generate GLSL that contracts no multiply-add; in GLSL ES a driver still may.")
    ] = False,
    output: OutputFile = None,
) -> None:
    """Translate a program to a shader, or to a Python module that needs only NumPy.

    glsl is a fragment shader for OpenGL 4.0, glsl-es one for WebGL2 and OpenGL ES 3.0, glsl-compute
    a compute shader for OpenGL 4.3.
    """
    _write_or_print(_translated(_assemble(program), to, exact), output)


@app.command("disassemble")
def disassemble_command(
    program: ProgramFile,
    output: OutputFile = None,
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
    from gpgpu_legacy.files import read_standard_input, read_text
    from gpgpu_legacy.languages.language import MOST_CHARACTERS

    if str(path) == "-":
        return read_standard_input(MOST_CHARACTERS), "standard input"
    return read_text(path, MOST_CHARACTERS), str(path)


def _write_or_print(text: str, output: Path | None) -> None:
    if output is None:
        print(text, end="")
        return
    from gpgpu_legacy.files import write_text

    write_text(output, text)
    print(f"wrote {output}")


def _translated(program: Program, to: Language, exact: bool) -> str:
    from gpgpu_legacy.lower.emit import glsl_compute, glsl_es, glsl_fragment, numpy_source
    from gpgpu_legacy.lower.shader_key import program_key

    if to is Language.NUMPY:
        return numpy_source.numpy_source(program)
    emitters: dict[Language, Callable[[Any], str]] = {
        Language.GLSL: glsl_fragment.fragment_shader,
        Language.GLSL_COMPUTE: glsl_compute.compute_shader,
        Language.GLSL_ES: glsl_es.fragment_shader_es,
    }
    return emitters[to](program_key(program, exact=exact))


def _print_check(program: Program, profile: Profile | None, verdict: Verdict | None) -> None:
    if profile is None or verdict is None:
        from gpgpu_legacy.api.check import resources_grid

        print_tables([resources_grid(program)])
        return
    from gpgpu_legacy.chips.table import verdict_grids

    print_tables(verdict_grids(verdict, profile))
