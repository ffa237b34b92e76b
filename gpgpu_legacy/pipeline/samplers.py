"""Samplers as a caller may spell them: by GL's names, in words, or as a mapping."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from gpgpu_legacy.arguments import kind_of
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.ir import TextureTarget
from gpgpu_legacy.plan.textures import DEFAULT_SAMPLER, Filter, Sampler, Wrap

COORDINATES = {
    TextureTarget.T1D: 1,
    TextureTarget.T2D: 2,
    TextureTarget.RECT: 2,
    TextureTarget.T3D: 3,
    TextureTarget.CUBE: 3,
}

_FILTERS = {filter_.value: filter_ for filter_ in Filter}

_WRAPS = {wrap.value: wrap for wrap in Wrap}

_KEYS = {
    "filter": "filter",
    "min-filter": "filter",
    "mag-filter": "filter",
    "min": "filter",
    "mag": "filter",
    "texture-min-filter": "filter",
    "texture-mag-filter": "filter",
    "wrap": "wrap",
    **{f"{prefix}{c}": f"wrap-{c}" for prefix in ("", "wrap-", "texture-wrap-") for c in "str"},
}


def _plain(text: str) -> str:
    """A name of GL's in the one spelling that is looked up: small letters, hyphens, no GL_."""
    return text.strip().lower().replace("_", "-").removeprefix("gl-")


def is_sampler_word(text: str) -> bool:
    """Whether the text names a filter or a wrap."""
    return _plain(text) in {**_FILTERS, **_WRAPS}


def as_sampler(name: str, given: Sequence[Any], target: TextureTarget) -> Sampler:
    """A sampler from what follows the target and the array in a texture's tuple."""
    if not given:
        return DEFAULT_SAMPLER
    if len(given) == 1 and isinstance(given[0], Sampler):
        sampler = given[0]
    elif len(given) == 1 and isinstance(given[0], Mapping):
        sampler = _sampler_from_mapping(name, given[0], COORDINATES[target])
    else:
        sampler = _sampler_from_names(name, list(_words(name, given)), COORDINATES[target])
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
                yield _filter_or_wrap(name, word)
        elif isinstance(item, tuple | list):
            yield from _words(name, item)
        elif item is not None:
            raise InputError(
                f"the sampler of {name} is {kind_of(item)}; give a filter and a wrap, as in "
                '"GL_LINEAR GL_REPEAT"'
            )


def _filter_or_wrap(name: str, word: str) -> Filter | Wrap:
    known: dict[str, Filter | Wrap] = {**_FILTERS, **_WRAPS}
    named = known.get(_plain(word))
    if named is None:
        raise InputError(f"the sampler of {name} has {word!r}; choose from {', '.join(known)}")
    return named


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


def _sampler_from_mapping(name: str, given: Mapping[Any, Any], coordinates: int) -> Sampler:
    slots: dict[str, list[Filter | Wrap]] = {}
    for key, value in given.items():
        slot = _KEYS.get(_plain(key)) if isinstance(key, str) else None
        if slot is None:
            raise InputError(f"the sampler of {name} has the key {key!r}; give filter and wrap")
        words = list(_words(name, (value,)))
        known: Mapping[str, Filter | Wrap] = _FILTERS if slot == "filter" else _WRAPS
        for word in words:
            if word not in known.values():
                raise InputError(
                    f"the {slot} of {name} is {word.value!r}; choose from {', '.join(known)}"
                )
        if len(words) > 1 and slot.startswith("wrap-"):
            raise InputError(f"the sampler of {name} has {len(words)} values as its {slot}")
        if words and slots.setdefault(slot, words) != words:
            raise InputError(
                f"the sampler of {name} has two {slot}s; give one, there are no mipmaps"
            )
    plain = _sampler_from_names(
        name, [*slots.get("filter", []), *slots.get("wrap", [])], coordinates
    )
    single = {f"wrap_{c}": slots[f"wrap-{c}"][0] for c in "str" if f"wrap-{c}" in slots}
    return replace(plain, **cast("dict[str, Any]", single))
