"""Commands about fragment programs: run, translate and print them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gpgpu_legacy.cli.draw_options import DrawOptions, parse_size, parse_texel
from gpgpu_legacy.cli.frame import answers
from gpgpu_legacy.cli.options import Option
from gpgpu_legacy.cli.program_files import ProgramFile, assembled, program_files, read_program
from gpgpu_legacy.cli.shared import MachineOptions, OutputFile, app
from gpgpu_legacy.cli.words import Job
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.api.drawing import Drawing
    from gpgpu_legacy.api.programs import ProgramRun
    from gpgpu_legacy.api.trace import Trace
    from gpgpu_legacy.isa.arithmetic import F32
    from gpgpu_legacy.isa.ir import Program
    from gpgpu_legacy.runtime.prepared import Observer


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

    def writer(self, output: Path | None, shape: tuple[int, ...]) -> Callable[[F32], None] | None:
        """What writes the colours to --output; None without it. shape: of the colours."""
        from gpgpu_legacy.api.arrays import array_writer

        if output is not None:
            return array_writer(output, shape, "the colours", self.scale)
        if self.scale is not None and self.animate is None:
            raise InputError("--scale enlarges a picture; give -o FILE.png or --animate FILE, too")
        return None


# Commands -------------------------------------------------------------------------------------


@answers("exec")
def exec_command(
    *,
    program: ProgramFile,
    size: Annotated[
        str | None, Option("WxH", "Width and height of the rectangle in pixels; N stands for NxN.")
    ] = None,
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
        str | None, Option("X,Y", "Show one fragment's way through every instruction instead.")
    ] = None,
) -> ProgramRun | Trace:
    """Run a fragment program on a rectangle of pixels, once or with --passes many times."""
    from gpgpu_legacy.api.drawing import fed_back_size, make_drawing
    from gpgpu_legacy.api.programs import program_run, run_drawing, warn_about

    code, how = assembled(program), machine.machine()
    arguments = reads.arguments(code)
    rectangle = fed_back_size(arguments) if size is None else parse_size(size)
    if rectangle is None:
        raise InputError("give the size of the rectangle to draw, as in --size 256x256")
    width, height = rectangle
    buffers = () if arguments.draw_buffers is None else (arguments.draw_buffers,)
    write = film.writer(output, (*buffers, height, width, 4))
    drawing = make_drawing(code, width, height, arguments=arguments)
    observer, write_frames = film.frames_of(drawing)
    warn_about(drawing)
    executor, images, timings = run_drawing(drawing, machine.executor, how, observer)
    if write is not None:
        write(images if drawing.keeps_buffers else images[0])
    if write_frames is not None:
        write_frames()
    for path in filter(None, (output, film.animate)):
        print(f"wrote {path}", file=sys.stderr)
    if trace is None:
        return program_run(drawing, images, executor, timings, how)
    from gpgpu_legacy.api.programs import trace_drawing

    x, y = parse_texel("--trace", trace)
    return trace_drawing(drawing, x, y, machine.executor, how)


@app.command("translate")
def translate_command(
    job: Job,
    to: Annotated[Language, Option("The language to translate to.")],
    exact: Annotated[
        bool, Option("Generate GLSL that contracts no multiply-add; in GLSL ES a driver still may.")
    ] = False,
    output: OutputFile = None,
) -> None:
    """Translate FILE.fp, or a plan's program, to a shader or a Python module of NumPy alone.

    glsl is a fragment shader for OpenGL 4.0, glsl-es one for WebGL2 and OpenGL ES 3.0, glsl-compute
    a compute shader for OpenGL 4.3.
    """
    _write_or_print(_translated(_only_program(job), to, exact), output)


def _only_program(job: Job) -> Program:
    """The program of a file, or of a plan that has one."""
    if program_files(job.words):
        return assembled(Path(job.what))
    programs = job.pipeline().plan().programs()
    if len(programs) == 1:
        return programs[0]
    has = f"{len(programs)} programs" if programs else "no fragment program"
    raise InputError(f"{job.what} has {has}; `gpgpu-legacy dump` writes all of a plan, with GLSL")


@app.command("disassemble")
def disassemble_command(
    program: ProgramFile,
    output: OutputFile = None,
) -> None:
    """Print a program in its canonical form, which assembles to the same program."""
    from gpgpu_legacy.languages.registry import language_of

    text, name = read_program(program)
    language = language_of(text)
    _write_or_print(language.disassemble(language.assemble(text, name)), output)


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
