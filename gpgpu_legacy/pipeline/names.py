"""The inputs of passes in the caller's words: programs, samplers, and the names of a source."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpgpu_legacy.decorators import public
from gpgpu_legacy.errors import InputError, described, hint, kind_of
from gpgpu_legacy.files import MOST_TEXT_BYTES, read_text
from gpgpu_legacy.isa.kernel import Kernel
from gpgpu_legacy.isa.program import (
    Attribute,
    AttributeKind,
    Parameter,
    ParameterSpace,
    Program,
    TextureTarget,
)
from gpgpu_legacy.languages.brook import SUFFIX
from gpgpu_legacy.languages.language import MOST_CHARACTERS, CompilerOptions, is_text
from gpgpu_legacy.languages.registry import kernel_of, program_of, split_entry
from gpgpu_legacy.plan.textures import (
    DEFAULT_SAMPLER,
    FORMATS,
    Compare,
    Extent,
    Filter,
    Format,
    Sampler,
    TextureKind,
    Wrap,
    named_format,
    sampler_problem,
)

if TYPE_CHECKING:
    from gpgpu_legacy.languages.brook.kernels import BrookKernel, Kernels


# Sources -----------------------------------------------------------------------------------------


@public
def assemble(
    program: Program | Path | str | Any,
    name: str = "program",
    *,
    lenient: bool = False,
    mathematics: str = "",
    profile: str = "",
) -> Program:
    """A Program from its text or its file, in any shader language.

    program: a Program, its text or its file. A text has a line break or a semicolon, or begins with
    `!!`. A file is `FILE.fp` or `FILE.cg:entry,MACRO=VALUE`, beside the file of the caller's code
    or else in the current folder. The header of a text shows ARB_fragment_program and texture
    environments, and the suffix of a file Cg, HLSL and GLSL. Without a file, a text is GLSL if it
    has `void main()`, and Cg or HLSL if it has another function.
    name: of a program given as text, in messages. lenient: whether to accept what a language
    forbids and drivers accepted: text before `!!ARBfp1.0`, and GLSL ES without a precision.
    mathematics: `cg`, `direct3d9` or `glsl`, whose functions to use where languages define them
    differently; the text's own if empty.
    profile: `arbfp1`, `fp40` or `ps_3_0`, for a text in Cg, HLSL or GLSL; chosen if empty.
    Raises AssemblyError for a text that is wrong, and InputError for a missing file.
    """
    if isinstance(program, Program):
        return program
    text, name = _text_of(program, Program, name, MOST_CHARACTERS)
    # A file that a text includes may change, so such a text is assembled each time.
    assembled = program_of if "#include" in text else _assembled
    return assembled(text, name, lenient=lenient, mathematics=mathematics, profile=profile)


def as_kernel(given: object, name: str) -> Kernel:
    """A Kernel from itself, its text or its file; InputError for anything else.

    name: of a kernel given as text, in messages.
    """
    return given if isinstance(given, Kernel) else kernel_of(*_text_of(given, Kernel, name))


def _text_of(given: object, kind: type, name: str, most: int = MOST_TEXT_BYTES) -> tuple[str, str]:
    """The text of a program or a kernel, and its name in messages."""
    if isinstance(given, str) and is_text(given):
        return given, name
    if isinstance(given, str | Path):
        file, *_ = split_entry(str(given))
        path = _found(Path(file))
        return read_text(path, most), f"{path}{str(given)[len(file) :]}"
    own = kind.__name__
    raise InputError(f"the {own.lower()} is {kind_of(given)}; give a {own}, its text or its file")


def as_brook(given: object, name: str, profile: str = "") -> BrookKernel:
    """A kernel of a Brook text: from itself, from a text with one kernel, or `FILE.br:kernel`.

    name: of a text, in messages. profile: for which a text is compiled.
    """
    from gpgpu_legacy.languages.brook.kernels import BrookKernel

    if isinstance(given, BrookKernel):
        return given
    if not isinstance(given, str):
        raise InputError(f"the kernel is {kind_of(given)}; give `FILE.br:kernel` or its text")
    if is_text(given):
        return _brook(given, name, None, profile).find()
    file, _, kernel = given.partition(f"{SUFFIX}:")
    path = _found(Path(f"{file}{SUFFIX}" if kernel else file))
    text = read_text(path, MOST_CHARACTERS)
    return _brook(text, str(path), path.parent, profile).find(kernel)


@lru_cache(maxsize=64)
def _brook(text: str, name: str, folder: Path | None, profile: str) -> Kernels:
    from gpgpu_legacy.languages.brook.kernels import Kernels
    from gpgpu_legacy.languages.c.parser import parse

    return Kernels(parse(text, name, CompilerOptions(folder=folder)), profile)


_assembled = lru_cache(maxsize=256)(program_of)


def _found(path: Path) -> Path:
    if path.is_absolute():
        return path
    for folder in (_callers_folder(), Path()):
        if folder is not None and (folder / path).is_file():
            return folder / path
    raise InputError(
        f"there is no file {path}, neither beside the code that names it nor in the current folder"
    )


def _callers_folder() -> Path | None:
    """The folder of the file whose code called this package; None for code without a file."""
    package = __name__.partition(".")[0]
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] != package:
            file = frame.f_globals.get("__file__")
            return Path(file).resolve().parent if file else None
        frame = frame.f_back  # type: ignore[assignment]
    return None


# Samplers ----------------------------------------------------------------------------------------


_NAMED: dict[str, Filter | Wrap | Compare] = {
    member.value: member for kind in (Filter, Wrap, Compare) for member in kind
}
_NUMBERS = {"bias": float, "min-lod": float, "max-lod": float, "base-level": int, "max-level": int}
SAMPLER_WORDS = (*_NAMED, "border=…", *(f"{name}=…" for name in _NUMBERS))
TEXTURE_WORDS = (*SAMPLER_WORDS, *FORMATS)
_Word = Filter | Wrap | Compare | tuple[str, Any]
"""A filter, a wrap, a comparison, or another field of a Sampler and its value."""


def _meant(text: str) -> _Word | None:
    """The meaning of a word in any of GL's spellings; None if it has none."""
    plain = text.strip().lower().replace("_", "-").removeprefix("gl-").removeprefix("texture-")
    name, _, value = plain.partition("=")
    name = {"lod-bias": "bias", "border-color": "border"}.get(name, name)
    try:
        if name == "border":
            numbers = [float(number) for number in value.split(":")]
            r, g, b, a = numbers if len(numbers) > 1 else numbers * 4
            return name, (r, g, b, a)
        if name in _NUMBERS:
            return name.replace("-", "_"), _NUMBERS[name](value)
    except ValueError:
        return None
    return _NAMED.get(plain)


def is_texture_word(text: str) -> bool:
    """Whether the text is a word of a sampler, or a format."""
    return _meant(text) is not None or named_format(text) is not None


def as_sampler(
    name: str, given: Sequence[Any], target: TextureTarget, formats: list[Format] | None = None
) -> Sampler:
    """A sampler from a Sampler, or from words for filters, wraps and other fields.

    name: of the texture, in messages. given: the Sampler or the words; empty for the default.
    target: a shadow target compares by LEQUAL, as in GL, if no word says otherwise. formats: a
    format among the words is added to it; None if the words may not name one.
    """
    if target.is_shadow:
        sampler = as_sampler(name, given, target.kind, formats)
        return replace(sampler, compare=sampler.compare or Compare.LEQUAL)
    if not given:
        return DEFAULT_SAMPLER
    if len(given) == 1 and isinstance(given[0], Sampler):
        sampler = given[0]
    else:
        words = list(_words(name, given, formats))
        sampler = _sampler_from_names(name, words, target.coordinates)
    if problem := sampler_problem(sampler, TextureKind(target.value)):
        raise InputError(f"{name} {problem}")
    # A nearest lookup stays on its face, where every wrap reads the same texel as clamp-to-edge.
    if target is TextureTarget.CUBE:
        is_linear = Filter.LINEAR in (sampler.filter.within, sampler.magnifying)
        if is_linear and {*sampler.wraps} != {Wrap.CLAMP_TO_EDGE}:
            raise InputError(f"{name} is CUBE and linear; wrap it clamp-to-edge, or leave it out")
        edge = Wrap.CLAMP_TO_EDGE
        return replace(sampler, wrap_s=edge, wrap_t=edge, wrap_r=edge)
    return sampler


def _words(name: str, given: Iterable[Any], formats: list[Format] | None) -> Iterable[_Word]:
    """The words in strings, nested tuples and enumerations; a format is added to `formats`."""
    for item in given:
        if isinstance(item, Filter | Wrap | Compare):
            yield item
        elif isinstance(item, str):
            for word in re.findall(r"[^\s,;|/+]+", item):
                meant, texel_format = _meant(word), named_format(word)
                if meant is not None:
                    yield meant
                elif texel_format is not None and formats is not None:
                    if formats:
                        raise InputError(f"{name} has a second format, {word}; give one")
                    formats.append(texel_format)
                else:
                    known = SAMPLER_WORDS if formats is None else TEXTURE_WORDS
                    raise InputError(
                        f"the sampler of {name} has {word!r}; choose from {', '.join(known)}"
                    )
        elif isinstance(item, tuple | list):
            yield from _words(name, item, formats)
        elif item is not None:
            raise InputError(
                f"the sampler of {name} is {kind_of(item)}; give a filter and a wrap, as in "
                '"GL_LINEAR GL_REPEAT"'
            )


def _sampler_from_names(name: str, words: list[_Word], coordinates: int) -> Sampler:
    filters = [word for word in words if isinstance(word, Filter)]
    wraps = [word for word in words if isinstance(word, Wrap)]
    if len(filters) > 2 or sum(filter_.between is not None for filter_ in filters) > 1:
        raise InputError(
            f"the sampler of {name} has the filters {', '.join(f.value for f in filters)}; give "
            "one, or that of minification and that of magnification, nearest or linear"
        )
    if len(wraps) not in {0, 1, coordinates}:
        raise InputError(
            f"the sampler of {name} has {len(wraps)} wraps; give one, or one for each coordinate"
        )
    if len(wraps) < 2:
        wraps = (wraps or [Wrap.CLAMP_TO_EDGE]) * 3
    least, most, *_ = (*sorted(filters, key=lambda f: f.between is None), None, None)
    least = least or Filter.NEAREST
    fields: dict[str, Any] = dict(zip(("wrap_s", "wrap_t", "wrap_r"), wraps, strict=False))
    fields |= dict(word for word in words if isinstance(word, tuple))
    fields["compare"] = next((word for word in words if isinstance(word, Compare)), None)
    return Sampler(least, magnify=None if most is least.within else most, **fields)


# Names -------------------------------------------------------------------------------------------


def by_index(program: Program, given: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of a draw, by index alone: `textures`, `texcoords`, `local` and `env`.

    given: the same, but textures may be named by samplers and texcoords by varyings, and `uniforms`
    are by name. An array or a matrix takes a value for each element or row.
    """
    textures = dict[Any, Any]()
    for key, texture in (given.get("textures") or {}).items():
        _add(textures, unit_of(program, key), texture, f"texture {key}")
    by_space = {
        space: dict(given.get(name) or {})
        for space, name in ((ParameterSpace.LOCAL, "local"), (ParameterSpace.ENV, "env"))
    }
    for name, value in (given.get("uniforms") or {}).items():
        parameters = _parameters(program, name)
        rows = [value] if len(parameters) == 1 else value
        if not hasattr(rows, "__len__") or len(rows) != len(parameters):
            raise InputError(
                f"uniform {name} is {described(value)}; give {len(parameters)} values, one for "
                "each element or row"
            )
        for parameter, row in zip(parameters, rows, strict=True):
            _add(by_space[parameter.space], parameter.index, row, f"uniform {name}")
    local, env = by_space.values()
    sets = {a.index: name for a, name in program.names
            if isinstance(a, Attribute) and a.kind is AttributeKind.TEXCOORD}  # fmt: skip
    texcoords = {
        _number(program, "varying", key, sets): value
        for key, value in (given.get("texcoords") or {}).items()
    }
    return {
        "textures": textures, "texcoords": texcoords, "uniforms": None, "local": local, "env": env,
    }  # fmt: skip


def _add(to: dict[Any, Any], index: Any, value: Any, what: str) -> None:
    if index in to:
        raise InputError(f"{what} is number {index}, which is given twice; give it once")
    to[index] = value


def unit_of(program: Program, key: Any) -> Any:
    """The unit of a sampler by its name; anything but a name is returned as it is."""
    units = {unit: name for unit, name in program.names if isinstance(unit, int)}
    return _number(program, "sampler", key, units)


def _number(program: Program, what: str, key: Any, names: Mapping[int, str]) -> Any:
    """The number of a name; anything but a name is returned as it is."""
    if not isinstance(key, str):
        return key
    numbers = {name: number for number, name in names.items()}
    if (own := _identifier(key)) not in numbers:
        raise _unknown(program, what, key, numbers)
    return numbers[own]


def sizes(program: Program, extents: Mapping[int, Extent]) -> dict[int, Any]:
    """The values of the parameters size_of_SAMPLER, by which a GLSL program asks for extents.

    extents: of the textures, by unit.
    """
    asked = {f"size_of_{name}": extents.get(unit) for unit, name in program.names
             if isinstance(unit, int)}  # fmt: skip
    declared = [(d.name, p.index) for d in program.parameters for p in d.parameters]
    sized = ((index, asked.get(name)) for name, index in declared)
    return {index: (e.width, e.height, e.depth, 0) for index, e in sized if e}


def _identifier(name: object) -> str:
    """The name in a program's text: `light_at_0` for `light.at[0]`."""
    return re.sub(r"\W+", "_", str(name)).strip("_")


_ELEMENT = re.compile(r"(_\d*)+$")
"""The ending that a text adds to the name of an element or a row, or to a reserved word."""


def _parameters(program: Program, name: str) -> list[Parameter]:
    """The parameters of a uniform: one, or those of its elements or rows."""
    spaces = (ParameterSpace.LOCAL, ParameterSpace.ENV)
    declared = [(d.name, p) for d in program.parameters for p in d.parameters if p.space in spaces]
    own = _identifier(name)
    parameters = [p for other, p in declared if own in (other, _ELEMENT.sub("", other))]
    if not parameters:
        raise _unknown(program, "uniform", name, (_ELEMENT.sub("", n) for n, _ in declared))
    return parameters


def _unknown(program: Program, what: str, name: str, known: Iterable[str]) -> InputError:
    names = dict.fromkeys(known)
    how = hint(name, names) if names else "its source names none, so give an index"
    return InputError(f"{program.name} has no {what} {name}; {how}")
