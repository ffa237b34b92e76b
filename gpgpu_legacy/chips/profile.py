"""Chips and API profiles: the shape of profiles/*.toml, and its strict reader.

One file a chip or an API. Every number stands beside where it comes from and how sure it is; what
is unknown is absent, in the file and here (None). What a driver advertises and what the chip does
natively are kept apart.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from difflib import get_close_matches
from enum import Enum
from functools import cache
from importlib.resources import files
from math import inf
from pathlib import Path
from typing import Any, Generic, TypeVar

from gpgpu_legacy.arguments import as_text
from gpgpu_legacy.errors import GpgpuLegacyError, InputError

T = TypeVar("T")

UNLIMITED = inf
"""The value of a limit that does not exist."""


class ProfileError(GpgpuLegacyError):
    """A profile's file that does not keep to the form."""


class Confidence(Enum):
    """How far a number can be relied on."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Kind(Enum):
    """What a profile describes: a chip, or what an API promises on any chip."""

    CHIP = "chip"
    API = "API"


@dataclass(frozen=True, slots=True)
class Fact(Generic[T]):
    """A value from the world. source: a tag of profiles/sources.toml.

    up_to: the other end, where boards differ or only a range is known.
    """

    value: T
    source: str
    confidence: Confidence
    note: str = ""
    up_to: T | None = None


@dataclass(frozen=True, slots=True)
class Hardware:
    """What the chip is made of. memory_mib is the board's, shared_memory whether the host's too.

    What prediction asks for besides (predict/model.py): of texels of 32 and of 128 bits, the
    clocks in which a texture unit looks one up, or the rates that were measured, in 10⁹ a second;
    upload and read-back, where they are slower than the bus; arithmetic_width, the components that
    an instruction computes at the cost of one; dots_g_per_s, the dot products of four components,
    in 10⁹ a second; pass_us, what a pass costs beside its fragments, and run_us, what starting and
    waiting for the end costs; chains_passes, whether a Repeat that chains is carried out in one go
    (lower/chains.py); stages_lookups, whether tiles of fragments stage what they share in shared
    memory (lower/workgroups.py), shared_memory_gb_per_s, what invocations read from there, and
    tiles_at_once, of how many tiles the chip is full;
    writes_overlap, whether fragments are written while others are computed, false for software;
    coalescing, the rule by which memory serves kernels (count/coalescing.py), and the shader clocks
    that a multiprocessor takes for a step of a request to shared memory.
    """

    core_clock_mhz: Fact[float] | None = None
    shader_clock_mhz: Fact[float] | None = None
    pixel_pipelines: Fact[int] | None = None
    texture_units: Fact[int] | None = None
    multiprocessors: Fact[int] | None = None
    cores: Fact[int] | None = None
    memory_gb_per_s: Fact[float] | None = None
    memory_mib: Fact[int] | None = None
    shared_memory: Fact[bool] | None = None
    bus: Fact[str] | None = None
    bus_gb_per_s: Fact[float] | None = None
    fragment_peak_gflops: Fact[float] | None = None
    compute_peak_gflops: Fact[float] | None = None
    arithmetic_width: Fact[int] | None = None
    lookup_clocks_32_bits: Fact[float] | None = None
    lookup_clocks_128_bits: Fact[float] | None = None
    lookups_32_bits_g_per_s: Fact[float] | None = None
    lookups_128_bits_g_per_s: Fact[float] | None = None
    fills_32_bits_g_per_s: Fact[float] | None = None
    fills_128_bits_g_per_s: Fact[float] | None = None
    blends_32_bits_g_per_s: Fact[float] | None = None
    blends_128_bits_g_per_s: Fact[float] | None = None
    upload_gb_per_s: Fact[float] | None = None
    readback_gb_per_s: Fact[float] | None = None
    dots_g_per_s: Fact[float] | None = None
    shared_memory_gb_per_s: Fact[float] | None = None
    tiles_at_once: Fact[float] | None = None
    pass_us: Fact[float] | None = None
    run_us: Fact[float] | None = None
    chains_passes: Fact[bool] | None = None
    stages_lookups: Fact[bool] | None = None
    writes_overlap: Fact[bool] | None = None
    coalescing: Fact[str] | None = None
    shared_memory_clocks: Fact[float] | None = None


@dataclass(frozen=True, slots=True)
class Formats:
    """Textures and framebuffers.

    largest_texture_texels, largest_target_texels: width and height.
    float_texture_kinds: the texture targets that may be float, by their names in programs.
    float_target_bits: of a channel of the widest float framebuffer; 0 where there is none.
    float_blending_bits: of the widest that can be blended; 0 where none can.
    """

    largest_texture_texels: Fact[int] | None = None
    largest_target_texels: Fact[int] | None = None
    rectangle_textures: Fact[bool] | None = None
    float_texture_kinds: Fact[tuple[str, ...]] | None = None
    float_filters: Fact[tuple[str, ...]] | None = None
    float_target_bits: Fact[int] | None = None
    float_blending_bits: Fact[int] | None = None


@dataclass(frozen=True, slots=True)
class Programs:
    """What runs once a fragment.

    language: what fragments are programmed in. arb_fragment_program: whether that is, or includes,
    the language of this package. kernels: compute shaders.
    operations: the opcodes that there is something for; absent where there is for all.
    swizzles: whether an arithmetic operand may have its components in any order.
    arithmetic: the number format, in words.
    """

    language: Fact[str] | None = None
    arb_fragment_program: Fact[bool] | None = None
    operations: Fact[tuple[str, ...]] | None = None
    swizzles: Fact[bool] | None = None
    arithmetic: Fact[str] | None = None
    kernels: Fact[bool] | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """A program's limits, each a largest number; UNLIMITED where there is none."""

    alu_instructions: Fact[float] | None = None
    texture_instructions: Fact[float] | None = None
    instructions: Fact[float] | None = None
    indirections: Fact[float] | None = None
    temporaries: Fact[float] | None = None
    parameters: Fact[float] | None = None
    attributes: Fact[float] | None = None
    coordinate_sets: Fact[float] | None = None
    image_units: Fact[float] | None = None
    local_parameters: Fact[float] | None = None
    env_parameters: Fact[float] | None = None
    color_outputs: Fact[float] | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """A chip or an API, by all that is known of it.

    advertised: the limits that the API gives. native: those of the hardware; an API has none.
    notes: what numbers do not say.
    """

    name: str
    title: str
    kind: Kind
    aliases: tuple[str, ...]
    released: Fact[str] | None
    notes: tuple[str, ...]
    hardware: Hardware
    formats: Formats
    programs: Programs
    advertised: Limits
    native: Limits

    @property
    def called(self) -> str:
        """Its title as it stands in a sentence."""
        return f"the {self.title}" if self.kind is Kind.CHIP else self.title

    def facts(self) -> Iterator[tuple[str, Fact[Any]]]:
        """Every fact, with its place in the file: `native.temporaries`."""
        if self.released is not None:
            yield "released", self.released
        for section, kept in _SECTIONS.items():
            for field in fields(kept):
                fact = getattr(getattr(self, section), field.name)
                if fact is not None:
                    yield f"{section}.{field.name}", fact


_SECTIONS: dict[str, type[Any]] = {
    "hardware": Hardware,
    "formats": Formats,
    "programs": Programs,
    "advertised": Limits,
    "native": Limits,
}


# Finding them -------------------------------------------------------------------------------


@cache
def profiles() -> tuple[Profile, ...]:
    """All profiles: chips in the order of their release, then APIs by name."""
    folder = files("gpgpu_legacy.chips").joinpath("profiles")
    names = sorted(e.name for e in folder.iterdir() if e.name.endswith(".toml"))
    read = [
        read_profile(folder.joinpath(name).read_text("utf-8"), name)
        for name in names
        if name != _SOURCES
    ]
    return tuple(sorted(read, key=_order))


def _order(profile: Profile) -> tuple[bool, str, str]:
    chip = profile.kind is Kind.CHIP
    return not chip, profile.released.value if chip and profile.released else "", profile.name


def find_profile(name: str) -> Profile:
    """The profile of that name or alias; InputError, with the nearest names, where there is none.

    Those that were calibrated here are found too, and those that the package has of machines on
    which its measurements were made.
    Capitals, spaces and underscores make no difference: `Radeon 9700` is radeon-9700.
    """
    as_text("name", name, "a chip's name, such as 'radeon-9700'")
    everywhere = (*calibrated(), *recorded(), *profiles())
    known = {alias: each for each in everywhere for alias in (each.name, *each.aliases)}
    plain = "-".join(name.lower().replace("_", " ").replace("-", " ").split())
    if plain in known:
        return known[plain]
    close = get_close_matches(plain, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else "see `gpgpu-legacy chips`"
    raise InputError(f"there is no chip {name!r}; {hint}")


VARIABLE = "GPGPU_LEGACY_PROFILES"


def calibrated_folder() -> Path:
    """Where `gpgpu-legacy calibrate` puts its profiles, whether or not there is such a folder."""
    given = os.environ.get(VARIABLE, "").strip()
    if given:
        return Path(given)
    from platformdirs import user_data_path

    return user_data_path("gpgpu-legacy", appauthor=False) / "profiles"


def calibrated() -> tuple[Profile, ...]:
    """The profiles that were measured on this machine, by name."""
    folder = calibrated_folder()
    if not folder.is_dir():
        return ()
    return tuple(
        read_profile(path.read_text(encoding="utf-8"), str(path))
        for path in sorted(folder.glob("[!.]*.toml"))
    )


@cache
def recorded() -> tuple[Profile, ...]:
    """The calibrations of the machines that recorded measurements were made on, by name."""
    folder = files("gpgpu_legacy.chips").joinpath("profiles").joinpath(_RECORDED)
    names = sorted(e.name for e in folder.iterdir() if e.name.endswith(".toml"))
    return tuple(
        read_profile(folder.joinpath(name).read_text("utf-8"), f"{_RECORDED}/{name}")
        for name in names
    )


_RECORDED = "recorded"
_SOURCES = "sources.toml"
MEASURED = {"measured": "measured by `gpgpu-legacy calibrate`"}
"""The source of what was calibrated, which no number of the package's own chips has."""


@cache
def sources() -> dict[str, str]:
    """What the tags stand for that say where a number comes from."""
    folder = files("gpgpu_legacy.chips").joinpath("profiles")
    read = tomllib.loads(folder.joinpath(_SOURCES).read_text("utf-8"))
    return {str(tag): str(text) for tag, text in read.items()}


# Reading them -------------------------------------------------------------------------------


def read_profile(text: str, file: str) -> Profile:
    """A profile from the text of its file; ProfileError where that does not keep to the form."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(f"{file}: {error}") from None
    _keys(data, {"name", "title", "kind"}, {"aliases", "released", "notes", *_SECTIONS}, file)
    kinds = {kind.value: kind for kind in Kind}
    if data["kind"] not in kinds:
        raise ProfileError(f"{file}: the kind is {data['kind']!r}; choose {' or '.join(kinds)}")
    sections = {name: _section(data.get(name, {}), name, file) for name in _SECTIONS}
    released = data.get("released")
    return Profile(
        name=data["name"],
        title=data["title"],
        kind=kinds[data["kind"]],
        aliases=tuple(data.get("aliases", ())),
        released=None if released is None else _fact(released, "Fact[str]", f"{file}: released"),
        notes=tuple(data.get("notes", ())),
        **sections,
    )


def _keys(data: dict[str, Any], needed: set[str], more: set[str], place: str) -> None:
    for missing in sorted(needed - data.keys()):
        raise ProfileError(f"{place}: {missing} is missing")
    for unknown in sorted(data.keys() - needed - more):
        close = get_close_matches(unknown, needed | more, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise ProfileError(f"{place}: there is no {unknown}{hint}")


def _section(data: dict[str, Any], name: str, file: str) -> Any:
    types = {field.name: str(field.type) for field in fields(_SECTIONS[name])}
    _keys(data, set(), set(types), f"{file}: {name}")
    found = {key: _fact(data[key], types[key], f"{file}: {name}.{key}") for key in data}
    return _SECTIONS[name](**found)


# What a value of each type of fact looks like in TOML.
_TYPES: dict[str, tuple[type, ...]] = {
    "Fact[bool]": (bool,),
    "Fact[str]": (str,),
    "Fact[int]": (int,),
    "Fact[float]": (int, float),
    "Fact[tuple[str, ...]]": (list,),
}


def _fact(data: object, declared: str, place: str) -> Fact[Any]:
    if not isinstance(data, dict):
        raise ProfileError(f"{place} is no table of a value, its source and its confidence")
    _keys(data, {"value", "source", "confidence"}, {"note", "up_to"}, place)
    wanted = _TYPES[declared.removesuffix(" | None")]
    for key in ("value", "up_to"):
        value = data.get(key)
        given = value is not None
        if given and (
            not isinstance(value, wanted) or (isinstance(value, bool) != (wanted == (bool,)))
        ):
            raise ProfileError(f"{place}: {key} is {value!r}, which is no {wanted[-1].__name__}")
    tags = {**sources(), **MEASURED}
    if data["source"] not in tags:
        known = ", ".join(tags)
        raise ProfileError(f"{place}: there is no source {data['source']!r}; known are {known}")
    levels = {level.value: level for level in Confidence}
    if data["confidence"] not in levels:
        raise ProfileError(
            f"{place}: the confidence is {data['confidence']!r}; choose {', '.join(levels)}"
        )
    value = tuple(data["value"]) if isinstance(data["value"], list) else data["value"]
    return Fact(
        value, data["source"], levels[data["confidence"]], data.get("note", ""), data.get("up_to")
    )
