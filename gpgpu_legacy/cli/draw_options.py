"""The options of `exec` that say what a program reads, and how their texts are parsed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from gpgpu_legacy.cli.options import Option, Several
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.numerals import natural_in, naturals_in, real_in

if TYPE_CHECKING:
    from gpgpu_legacy.api.drawing import DrawArguments
    from gpgpu_legacy.isa.ir import Program

T = TypeVar("T")


@dataclass(frozen=True)
class DrawOptions:
    """What a program reads, and what it is drawn over: the fields of DrawArguments."""

    texture: Annotated[
        Several[str],
        Option(
            "UNIT=FILE[,TARGET][,FILTER][,WRAP] …",
            "A .npy array, its row 0 at the bottom, or a picture, which is flipped to match. "
            "Target, filter and wrap have their GL names (default: the program's target, nearest, "
            "clamp-to-edge).",
        ),
    ] = ()
    local: Annotated[
        Several[str], Option("I=X,Y,Z,W …", "program.local[I] (default: 0,0,0,0).")
    ] = ()
    env: Annotated[Several[str], Option("I=X,Y,Z,W …", "program.env[I] (default: 0,0,0,0).")] = ()
    texcoord: Annotated[
        Several[str],
        Option(
            "SET=NUMBERS …",
            "16 numbers, 4 at each of the corners (0,0), (W,0), (W,H), (0,H), or 4 for all, "
            "or a .npy. By default set 0 holds the pixel's coordinates.",
        ),
    ] = ()
    color: Annotated[
        str | None,
        Option("R,G,B,A", "fragment.color: 4 numbers, or 16 as for --texcoord (default: 1,1,1,1)."),
    ] = None
    secondary_color: Annotated[
        str | None, Option("R,G,B,A", "fragment.color.secondary, likewise (default: 0,0,0,1).")
    ] = None
    fogcoord: Annotated[
        str | None,
        Option("F", "fragment.fogcoord: one number, or 4, one at each corner (default: 0)."),
    ] = None
    state: Annotated[
        Several[str],
        Option(
            "NAME=NUMBERS …",
            "GL state, as in fog.color=1,0,0,1; a matrix has 16 numbers (default: GL's own).",
        ),
    ] = ()
    clear: Annotated[str, Option("R,G,B,A", "The colour that discarded fragments leave.")] = (
        "0,0,0,0"
    )
    blend: Annotated[str, Option("none|add", "add adds to the colour of --clear.")] = "none"
    draw_buffers: Annotated[
        int | None,
        Option("N", "Keep result.color[0] to result.color[N-1] (default: result.color)."),
    ] = None
    passes: Annotated[
        int | None, Option("N", "Run the program N times, with --feedback (default: 1).")
    ] = None
    feedback: Annotated[
        int | None,
        Option(
            "UNIT",
            "The unit whose texture each pass replaces by what it draws. The rectangle then "
            "has the texture's size, unless --size says otherwise.",
        ),
    ] = None

    def arguments(self, program: Program) -> DrawArguments:
        """The options as values. program: it names the target of textures given without one."""
        from gpgpu_legacy.api.drawing import DrawArguments

        return DrawArguments(
            textures=_textures(self.texture, program),
            local=_values("--local", self.local),
            env=_values("--env", self.env),
            texcoords=_values("--texcoord", self.texcoord),
            color=_value("--color", self.color),
            secondary_color=_value("--secondary-color", self.secondary_color),
            fogcoord=_value("--fogcoord", self.fogcoord),
            state={
                name: _value(f"--state {name}", text)
                for name, text in _pairs("--state", self.state, str.strip, "fog.color=1,0,0,1")
            },
            clear=_value("--clear", self.clear),
            blend=self.blend,
            draw_buffers=self.draw_buffers,
            passes=self.passes,
            feedback=self.feedback,
        )


def parse_size(text: str) -> tuple[int, int]:
    """Width and height from WxH, or from N for both."""
    parts = [part.strip() for part in text.lower().replace("×", "x").split("x")]
    width, height = natural_in(parts[0]), natural_in(parts[-1])
    if len(parts) > 2 or width is None or height is None:
        raise InputError(f"--size is {text!r}; give a width and a height, as in --size 256x128")
    if min(width, height) < 1:
        raise InputError(f"--size is {text!r}; both must be at least 1")
    return width, height


def parse_texel(option: str, text: str) -> tuple[int, int]:
    """A column and a row from X,Y."""
    texel = naturals_in(text, 2)
    if texel is None:
        raise InputError(f"{option} is {text!r}; give a column and a row, as in {option} 3,0")
    return texel[0], texel[1]


def _pairs(
    option: str, texts: Several[str], key_in: Callable[[str], T | None], example: str
) -> Iterator[tuple[T, str]]:
    """Keys and values, from KEY=VALUE; each key may be given once."""
    seen = set()
    for text in texts:
        key, equals, value = text.partition("=")
        found = key_in(key)
        if not equals or found is None:
            raise InputError(f"{option} is {text!r}; write it as in {option} {example}")
        if found in seen:
            raise InputError(f"{option} gives {found} twice; give it once")
        seen.add(found)
        yield found, value


def _values(option: str, texts: Several[str]) -> dict[int, Any]:
    """Numbers by index."""
    pairs = _pairs(option, texts, natural_in, "0=1,0,0,1")
    return {index: _value(f"{option} {index}", text) for index, text in pairs}


def _value(option: str, text: str | None) -> Any:
    """A number, several, rows of four where there are 16, or an array in a file."""
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
    """Textures from UNIT=FILE[,TARGET][,FILTER][,WRAP]; a file's name may contain commas."""
    from gpgpu_legacy.api.arrays import read_array
    from gpgpu_legacy.isa.ir import TextureTarget
    from gpgpu_legacy.pipeline.samplers import is_sampler_word

    targets = {target.value for target in TextureTarget}
    textures: dict[int, tuple[Any, ...]] = {}
    for unit, text in _pairs("--texture", texts, natural_in, "0=FILE"):
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
        path = Path(",".join(parts))
        if len(parts) > 1 and not path.exists():
            raise InputError(
                f"--texture {unit} has {parts[-1].strip()!r}; give a target, a filter and a wrap "
                f"by their GL names, as in --texture {unit}={parts[0]},2D,GL_LINEAR,GL_REPEAT"
            )
        texels = read_array(path)
        textures[unit] = (target or looked_up, texels, tuple(words))
    return textures
