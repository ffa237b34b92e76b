"""Samplers in the caller's spelling: by GL's names, or in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from gpgpu_legacy.errors import InputError, kind_of
from gpgpu_legacy.isa.ir import TextureTarget
from gpgpu_legacy.plan.textures import DEFAULT_SAMPLER, Filter, Sampler, Wrap

_NAMED: dict[str, Filter | Wrap] = {
    member.value: member for kind in (Filter, Wrap) for member in kind
}


def _plain(text: str) -> str:
    """A GL name in the spelling that is looked up: lower case, hyphens, no GL_."""
    return text.strip().lower().replace("_", "-").removeprefix("gl-")


def is_sampler_word(text: str) -> bool:
    """Whether the text names a filter or a wrap."""
    return _plain(text) in _NAMED


def as_sampler(name: str, given: Sequence[Any], target: TextureTarget) -> Sampler:
    """A sampler from what follows the target and the array in a texture's tuple."""
    if not given:
        return DEFAULT_SAMPLER
    if len(given) == 1 and isinstance(given[0], Sampler):
        sampler = given[0]
    else:
        sampler = _sampler_from_names(name, list(_words(name, given)), target.coordinates)
    wraps = {sampler.wrap_s, sampler.wrap_t, sampler.wrap_r}
    if target is TextureTarget.RECT and Wrap.REPEAT in wraps:
        raise InputError(f"{name} is RECT and does not repeat; wrap it clamp or clamp-to-edge")
    # A nearest lookup stays on its face, where every wrap reads the same texel as clamp-to-edge.
    if target is TextureTarget.CUBE:
        if sampler.filter is Filter.LINEAR and wraps != {Wrap.CLAMP_TO_EDGE}:
            raise InputError(f"{name} is CUBE and linear; wrap it clamp-to-edge, or leave it out")
        return Sampler(sampler.filter)
    return sampler


def _words(name: str, given: Iterable[Any]) -> Iterable[Filter | Wrap]:
    """The filters and wraps named in strings, tuples of strings and enumerations."""
    for item in given:
        if isinstance(item, Filter | Wrap):
            yield item
        elif isinstance(item, str):
            for word in re.findall(r"[^\s,;|/+]+", item):
                if _plain(word) not in _NAMED:
                    raise InputError(
                        f"the sampler of {name} has {word!r}; choose from {', '.join(_NAMED)}"
                    )
                yield _NAMED[_plain(word)]
        elif isinstance(item, tuple | list):
            yield from _words(name, item)
        elif item is not None:
            raise InputError(
                f"the sampler of {name} is {kind_of(item)}; give a filter and a wrap, as in "
                '"GL_LINEAR GL_REPEAT"'
            )


def _sampler_from_names(name: str, words: list[Filter | Wrap], coordinates: int) -> Sampler:
    filters = {word for word in words if isinstance(word, Filter)}
    wraps = [word for word in words if isinstance(word, Wrap)]
    if len(filters) > 1:
        raise InputError(f"the sampler of {name} has two filters; give one, there are no mipmaps")
    if len(wraps) not in {0, 1, coordinates}:
        raise InputError(
            f"the sampler of {name} has {len(wraps)} wraps; give one, or one for each coordinate"
        )
    if len(wraps) < 2:
        wraps = (wraps or [Wrap.CLAMP_TO_EDGE]) * 3
    return Sampler(next(iter(filters), Filter.NEAREST), *wraps)
