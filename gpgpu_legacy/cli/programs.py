"""Commands about fragment programs: run, translate and print them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from gpgpu_legacy.api.command.frame import answers
from gpgpu_legacy.api.command.options import Argument, Several, host_names, target_names
from gpgpu_legacy.api.command.words import (
    Job,
    MachineOptions,
    asked,
    assembled,
    pairs,
    parse_size,
    parse_texel,
)
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError, natural_in, real_in
from gpgpu_legacy.languages.brook import SUFFIX

if TYPE_CHECKING:
    from gpgpu_legacy.api.programs import ProgramRun
    from gpgpu_legacy.api.trace import Trace
    from gpgpu_legacy.isa.program import Program


T = TypeVar("T")

ProgramFile = Annotated[
    str,
    Argument(
        "PROG.fp",
        "A file with a program, such as FILE.frag or FILE.cg:entry,MACRO=VALUE; its text, with "
        "a line break or a semicolon, or beginning with !!; or -, standard input.",
    ),
]
OutputFile = Annotated[Path | None, "-o", "--output", "FILE", "Write to this file."]


@frozen
class DrawOptions:
    """The inputs of a program, and the background: the keywords of run_program."""

    texture: Annotated[
        Several[str],
        "UNIT|NAME=FILE[,TARGET][,FORMAT][,FILTER][,WRAP]",
        "Of a unit, or a sampler of the source: a .npy array, its row 0 at the bottom, or a "
        "picture, which is flipped to match. "
        "Target, format, filter and wrap have their GL names (default: the program's target, "
        "rgba32f, nearest, clamp-to-edge).",
    ] = ()
    uniform: Annotated[
        Several[str], "NAME=NUMBERS", "A uniform of the source; a 4×4 matrix has 16 numbers."
    ] = ()
    local: Annotated[Several[str], "I=X,Y,Z,W", "program.local[I] (default: 0,0,0,0)."] = ()
    env: Annotated[Several[str], "I=X,Y,Z,W", "program.env[I] (default: 0,0,0,0)."] = ()
    texcoord: Annotated[
        Several[str],
        "SET|NAME=NUMBERS",
        "Of a set, or a varying of the source: 16 numbers, 4 at each of the corners (0,0), "
        "(W,0), (W,H), (0,H), or 4 for all, or a .npy. By default set 0 holds the pixel's "
        "coordinates.",
    ] = ()
    color: Annotated[
        str | None,
        "R,G,B,A",
        "fragment.color: 4 numbers, or 16 as for --texcoord (default: 1,1,1,1).",
    ] = None
    secondary_color: Annotated[
        str | None, "R,G,B,A", "fragment.color.secondary, in the same form (default: 0,0,0,1)."
    ] = None
    fogcoord: Annotated[
        str | None,
        "F",
        "fragment.fogcoord: one number, or 4, one at each corner (default: 0).",
    ] = None
    state: Annotated[
        Several[str],
        "NAME=NUMBERS",
        "GL state, as in fog.color=1,0,0,1; a matrix has 16 numbers (default: GL's own).",
    ] = ()
    clear: Annotated[str, "R,G,B,A", "The colour of discarded fragments."] = "0,0,0,0"
    blend: Annotated[
        str,
        "EQUATION[,FACTOR,FACTOR[,R,G,B,A]]",
        "Blend with the colour of --clear, as in add, or add,src-alpha,one-minus-src-alpha; the "
        "numbers are the constant's (default: none).",
    ] = "none"
    mask: Annotated[str, "CHANNELS", "The channels that are written."] = "rgba"
    scissor: Annotated[str | None, "X,Y,W,H", "Draw only inside this rectangle."] = None
    alpha_test: Annotated[
        str | None, "COMPARISON,NUMBER", "Discard fragments of other alphas, as in greater,0.5."
    ] = None
    draw_buffers: Annotated[
        int | None,
        "N",
        "Keep result.color[0] to result.color[N-1] (default: result.color).",
    ] = None
    passes: Annotated[int | None, "N", "Run the program N times, with --feedback (default: 1)."] = (
        None
    )
    feedback: Annotated[
        str | None,
        "UNIT|NAME",
        "The unit or sampler whose texture each pass replaces by its output. The rectangle then "
        "has the texture's size, unless --size says otherwise.",
    ] = None

    def given(self, program: Program) -> dict[str, Any]:
        """The options as values. program: decides the target of textures given without one."""
        numbers = ("color", "secondary_color", "fogcoord", "clear", "scissor")
        words = ("blend", "mask", "alpha_test", "draw_buffers", "passes")
        return {
            "textures": _textures(self.texture, program),
            "uniforms": _values("--uniform", self.uniform, str.strip, "depth=0.5"),
            "local": _values("--local", self.local, natural_in),
            "env": _values("--env", self.env, natural_in),
            "texcoords": _values("--texcoord", self.texcoord, _unit),
            "state": _values("--state", self.state, str.strip, "fog.color=1,0,0,1"),
            "feedback": self.feedback and _unit(self.feedback),
            **{n: _value(f"--{n.replace('_', '-')}", getattr(self, n)) for n in numbers},
            **{n: getattr(self, n) for n in words},
        }


def _unit(text: str) -> int | str:
    """A unit or a set, or the name of a sampler or a varying."""
    number = natural_in(text)
    return text.strip() if number is None else number


def _values(
    option: str, texts: Several[str], key_in: Callable[[str], T | None], example: str = "0=1,0,0,1"
) -> dict[T, Any]:
    """The numbers of an option by the keys before the =."""
    return {
        key: _value(f"{option} {key}", text) for key, text in pairs(option, texts, key_in, example)
    }


def _value(option: str, text: str | None) -> Any:
    """A number, several, rows of four if there are 16, or an array in a file."""
    if text is None:
        return None
    if text.lower().endswith(".npy"):
        from gpgpu_legacy.api.arrays import read_array

        return read_array(Path(text))
    numbers = [real_in(part) for part in text.split(",")]
    if None in numbers:
        raise InputError(f"{option} is {text!r}; give numbers with commas, as in 1,0.5,0,1")
    if len(numbers) == 16:
        return [numbers[i : i + 4] for i in range(0, 16, 4)]
    return numbers[0] if len(numbers) == 1 else numbers


def _textures(texts: Several[str], program: Program) -> dict[int, tuple[Any, ...]]:
    """Textures by unit, from UNIT=FILE[,WORD]...: words name a target, a format or a sampler."""
    from gpgpu_legacy.api.arrays import read_array
    from gpgpu_legacy.isa.program import TextureTarget
    from gpgpu_legacy.pipeline.names import TEXTURE_WORDS, is_texture_word, unit_of

    targets = [target.value for target in TextureTarget]
    textures: dict[int, tuple[Any, ...]] = {}
    for key, text in pairs("--texture", texts, _unit, "0=FILE"):
        unit = unit_of(program, key)
        file, *words = map(str.strip, text.split(","))
        chosen = [word for word in words if word.upper() in targets]
        others = [word for word in words if word not in chosen]
        for word in (*chosen[1:], *(word for word in others if not is_texture_word(word))):
            raise InputError(
                f"--texture {unit} has {word!r} after {file}; choose from "
                f"{', '.join([*targets, *TEXTURE_WORDS])}"
            )
        looked_up = program.texture_units.get(unit, TextureTarget.T2D)
        target = chosen[0].upper() if chosen else looked_up
        textures[unit] = (target, read_array(Path(file)), tuple(others))
    return textures


# Commands -------------------------------------------------------------------------------------


@answers("exec")
def exec_command(
    *,
    program: ProgramFile,
    size: Annotated[
        str | None, "WxH", "Width and height of the rectangle in pixels; N stands for NxN."
    ] = None,
    reads: DrawOptions,
    machine: MachineOptions,
    animate: Annotated[
        Path | None, "FILE", "Write a frame for each pass, as .gif, .png or .apng."
    ] = None,
    scale: Annotated[
        int | None, "K", "Pixels along each side of a texel in pictures (default: 1)."
    ] = None,
    output: Annotated[
        Path | None,
        "-o",
        "--output",
        "FILE",
        "Write the colours as .npy, or r, g and b as .png (row 0 at the bottom).",
    ] = None,
    trace: Annotated[
        str | None, "X,Y", "Show how one fragment executes every instruction instead."
    ] = None,
) -> ProgramRun | Trace:
    """Run a fragment program on a rectangle of pixels, once or with --passes many times."""
    from gpgpu_legacy.api.arrays import array_writer
    from gpgpu_legacy.api.programs import (
        frames_of,
        make_drawing,
        program_run,
        run_drawing,
        trace_drawing,
    )

    code = assembled(program)
    given = reads.given(code)
    width, height = (None, None) if size is None else parse_size(size)
    if scale is not None and output is None and animate is None:
        raise InputError("--scale enlarges a picture; give -o FILE.png or --animate FILE, too")
    drawing = make_drawing(code, width, height, **given, **machine.how())
    buffers = filter(None, [reads.draw_buffers])
    shape = (*buffers, drawing.rect.height, drawing.rect.width, 4)
    write = array_writer(output, shape, "the colours", scale) if output is not None else None
    observer, write_frames = (
        frames_of(drawing, animate, 1 if scale is None else scale)
        if animate is not None
        else (None, None)
    )
    executor, result = run_drawing(drawing, observer)
    if write is not None:
        write(drawing.colours(result))
    if write_frames is not None:
        write_frames()
    for path in filter(None, (output, animate)):
        print(f"wrote {path}", file=sys.stderr)
    if trace is None:
        return program_run(drawing, executor, result)
    return trace_drawing(drawing, parse_texel("--trace", trace))


@answers("translate", writes=True)
def translate_command(
    job: Job,
    to: Annotated[str, "TARGET", "The language to translate to.", target_names],
    exact: Annotated[
        bool,
        "--exact-sampling",
        "For numpy's bits, in GLSL 4.00: fetch texels, nearest and clamped to the edge, compute "
        "attributes from planes, and contract nothing.",
    ] = False,
    host: Annotated[
        str | None,
        "HOST",
        "Write it as a script (moderngl) or a page (webgl) that sets it up and draws once.",
        host_names,
    ] = None,
    prove: Annotated[
        bool, "Draw random inputs with it, and say how far it is from the program's own result."
    ] = False,
    output: OutputFile = None,
) -> Iterator[Path]:
    """Translate FILE.fp, FILE.cg:entry, FILE.br:kernel, or a plan's program.

    glsl is a fragment shader for OpenGL 3.3, glsl-es one for WebGL2 and OpenGL ES 3.0; both keep
    the source's names, and leave filters and wraps to the textures. arb is the equivalent
    ARB_fragment_program. The Python module needs only NumPy.
    """
    from gpgpu_legacy.api.translate import proof
    from gpgpu_legacy.lower.emit.targets import find_target, targets

    target = find_target(to, host)
    if (prove or exact) and target.draw is None:
        shaders = " or ".join(shader.name for shader in targets() if shader.draw)
        raise InputError(
            f"--{'prove' if prove else 'exact-sampling'} is for shaders, and {to} has the "
            f"program's own bits; give --to {shaders}, or leave it out"
        )
    translation = target.translate(_translated(job), exact)
    if prove:
        for line in proof(translation):
            print(line, file=sys.stderr)
    return _written(target.draw(translation) if host and target.draw else translation.text, output)


def _translated(job: Job) -> Program:
    """The program of a file, the one of a Brook kernel, or the only one of a plan."""
    if job.programs():
        return assembled(job.what)
    if SUFFIX in job.what:
        if len(job.words) > 1:
            raise InputError(f"{job.what} is translated for all values; leave {job.words[1]} out")
        from gpgpu_legacy.api.translate import kernel_program

        return kernel_program(job.what, asked().get("profile", ""))
    programs = job.pipeline().plan().programs()
    if len(programs) != 1:
        has = f"{len(programs)} programs" if programs else "no fragment program"
        raise InputError(
            f"{job.what} has {has}; `gpgpu-legacy dump` writes all of a plan, with GLSL"
        )
    return programs[0]


@answers("disassemble", writes=True)
def disassemble_command(
    program: ProgramFile,
    output: OutputFile = None,
) -> Iterator[Path]:
    """Print a program in its canonical form, which assembles to the same program."""
    from gpgpu_legacy.languages.registry import disassemble

    return _written(disassemble(assembled(program)), output)


def _written(text: str, output: Path | None) -> Iterator[Path]:
    """Write a text to a file and yield its path; without a file, print the text."""
    from gpgpu_legacy.files import write_text

    if output is None:
        print(text, end="")
    else:
        write_text(output, text)
        yield output
