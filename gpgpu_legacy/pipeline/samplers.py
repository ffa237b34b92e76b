"""Samplers in the caller's spelling: by GL's names, or in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from gpgpu_legacy.errors import InputError, kind_of
from gpgpu_legacy.isa.ir import TextureTarget
from gpgpu_legacy.plan.textures import (
    DEFAULT_SAMPLER,
    FORMATS,
    Compare,
    Filter,
    Format,
    Sampler,
    TextureKind,
    Wrap,
    named_format,
    sampler_problem,
)

_NAMED: dict[str, Filter | Wrap | Compare] = {
    member.value: member for kind in (Filter, Wrap, Compare) for member in kind
}
_NUMBERS = {"bias": float, "min-lod": float, "max-lod": float, "base-level": int, "max-level": int}
SAMPLER_WORDS = (*_NAMED, "border=…", *(f"{name}=…" for name in _NUMBERS))
TEXTURE_WORDS = (*SAMPLER_WORDS, *FORMATS)
_Word = Filter | Wrap | Compare | tuple[str, Any]
"""A filter, a wrap, a comparison, or another field of a Sampler and its value."""


def _meant(text: str) -> _Word | None:
    """What a word names, in any of GL's spellings; None if that is nothing."""
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
    """A sampler from what follows the target and the array in a texture's tuple.

    A shadow target compares by LEQUAL, as in GL, if nothing else is given. formats: to which a
    format among the words is added; None if there is none.
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
    """What is named in strings, tuples of strings and enumerations."""
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
