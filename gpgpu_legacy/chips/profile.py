"""Chips and API profiles: the records of profiles/*.toml, and how they are found.

One file per chip or API. Every number stands beside its source and how reliable it is. Unknown
numbers are absent in the file and None here. Advertised limits and native ones are kept apart.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Sequence
from difflib import get_close_matches
from enum import Enum
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from math import inf
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar
from warnings import warn

from gpgpu_legacy.errors import GpgpuLegacyWarning, InputError
from gpgpu_legacy.files import data_folder
from gpgpu_legacy.serial import (
    Line,
    Meta,
    OneLine,
    Record,
    Recorded,
    Several,
    fields_of,
    from_toml,
    read_toml,
)

T_co = TypeVar("T_co", covariant=True)

Number = int | float
"""A number with its type in the file: 325 stays an int."""

LARGEST_FACT = 10**9
"""The largest number of a fact, in its field's unit; its inverse is the smallest rate."""

Rate = (
    Annotated[int, Meta(ge=1, le=LARGEST_FACT)]
    | Annotated[float, Meta(ge=1 / LARGEST_FACT, le=LARGEST_FACT)]
)
"""A number above 0 from which times are computed."""

Amount = Annotated[int, Meta(ge=1, le=LARGEST_FACT)]
"""A number of parts of a chip."""

Bits = Annotated[int, Meta(ge=0, le=128)]
"""Bits of a channel; 0 if there is none."""

Most = Annotated[int, Meta(ge=0, le=2**53)] | Annotated[float, Meta(ge=0)]
"""A limit, which may be UNLIMITED."""

UNLIMITED = inf
"""The value of a limit that does not exist."""


Name = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9.-]{0,99}(?![\s\S])")]
"""A name in lower case letters, digits, points and hyphens, as `find_profile` looks it up."""


class Confidence(Enum):
    """How reliable a number is."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class ProfileKind(Enum):
    """The subject of a profile: a chip, or an API's minima on any chip."""

    CHIP = "chip"
    API = "API"


class Fact(Record, Generic[T_co], kw_only=False, omit_defaults=True):
    """A value from the world. source: a tag of profiles/sources.toml.

    up_to: the upper end, if boards differ or only a range is known.
    """

    value: T_co
    source: Line
    confidence: Confidence
    note: OneLine = ""
    up_to: T_co | None = None

    @property
    def most(self) -> T_co:
        """The upper end, which a bound takes, since it must hold for the best board."""
        return self.value if self.up_to is None else self.up_to


class Section(Record, omit_defaults=True):
    """A table of facts. Fields that are None or of another type are not facts."""

    def facts(self) -> Iterator[tuple[str, Fact[Any]]]:
        """The facts that are known, with their names."""
        for name in self.__struct_fields__:
            fact = getattr(self, name)
            if isinstance(fact, Fact):
                yield name, fact


class Named(Section):
    """A table of facts with a name, one of several in a file."""

    name: Name


N = TypeVar("N", bound=Named)


class NamedFile(Record):
    """A file of tables of facts, which are its last field. sources: by their tags."""

    sources: dict[OneLine, OneLine]


F = TypeVar("F", bound=NamedFile)


MaybeRate = Fact[Rate] | None
MaybeAmount = Fact[Amount] | None
MaybeFlag = Fact[bool] | None
MaybeLine = Fact[Line] | None
MaybeLimit = Fact[Most] | None
"""Facts that a chip's profile may lack."""


class Hardware(Section):
    """The chip's parts and rates.

    memory_mib: of the board. shared_memory: whether the chip uses the host's memory too.
    arithmetic_width: components that one instruction computes. dots_g_per_s: dot products of four
    components. branch_clocks: that an IF or a loop takes besides its instructions. lookup_clocks_*:
    clocks that a texture unit needs to look up a texel of 32 or 128 bits; lookups_*, fills_* and
    blends_*: measured rates of the same texels. All *_g_per_s are in 10⁹ per second. bus_gb_per_s:
    to the chip and back, unless upload_gb_per_s or readback_gb_per_s are given. cached_gb_per_s:
    like memory_gb_per_s, for textures of cached_mib together, which a large cache holds from one
    pass to the next. pass_us: overhead of a pass. run_us: overhead of a run, from submitting it to
    waiting for its end. chains_passes: whether passes of a Repeat are fused
    (lower/analysis/fusion.py). stages_lookups: whether tiles of fragments stage the texels that
    they share in shared memory (lower/groups/shape.py); shared_memory_gb_per_s: the rate at which
    invocations read them; tiles_at_once: tiles that occupy the whole chip. writes_overlap: whether
    the chip writes fragments while it computes others; false for software. coalescing: the rule by
    which memory serves kernels (count/coalescing.py). shared_memory_clocks: shader clocks that a
    multiprocessor needs for one step of a request to shared memory. accesses_per_clock: loads and
    stores that a core starts in a clock, each of a number or of a vector register. register_bits:
    of a vector register.
    """

    core_clock_mhz: MaybeRate = None
    shader_clock_mhz: MaybeRate = None
    pixel_pipelines: MaybeAmount = None
    texture_units: MaybeAmount = None
    multiprocessors: MaybeAmount = None
    cores: MaybeAmount = None
    memory_gb_per_s: MaybeRate = None
    memory_mib: MaybeAmount = None
    cached_gb_per_s: MaybeRate = None
    cached_mib: MaybeAmount = None
    shared_memory: MaybeFlag = None
    bus: MaybeLine = None
    bus_gb_per_s: MaybeRate = None
    fragment_peak_gflops: MaybeRate = None
    compute_peak_gflops: MaybeRate = None
    arithmetic_width: MaybeAmount = None
    branch_clocks: MaybeRate = None
    lookup_clocks_32_bits: MaybeRate = None
    lookup_clocks_128_bits: MaybeRate = None
    lookups_32_bits_g_per_s: MaybeRate = None
    lookups_128_bits_g_per_s: MaybeRate = None
    fills_32_bits_g_per_s: MaybeRate = None
    fills_128_bits_g_per_s: MaybeRate = None
    blends_32_bits_g_per_s: MaybeRate = None
    blends_128_bits_g_per_s: MaybeRate = None
    upload_gb_per_s: MaybeRate = None
    readback_gb_per_s: MaybeRate = None
    dots_g_per_s: MaybeRate = None
    shared_memory_gb_per_s: MaybeRate = None
    tiles_at_once: MaybeRate = None
    pass_us: MaybeRate = None
    run_us: MaybeRate = None
    chains_passes: MaybeFlag = None
    stages_lookups: MaybeFlag = None
    writes_overlap: MaybeFlag = None
    coalescing: MaybeLine = None
    shared_memory_clocks: MaybeRate = None
    accesses_per_clock: MaybeRate = None
    register_bits: Fact[Bits] | None = None


class Formats(Section):
    """Textures and framebuffers.

    largest_texture_texels, largest_target_texels: width and height.
    float_texture_kinds: the texture targets that may be float, by their names in programs.
    float_target_bits: of a channel of the widest float framebuffer; 0 without one.
    float_blending_bits: of the widest one that it can blend; 0 without one.
    """

    largest_texture_texels: MaybeAmount = None
    largest_target_texels: MaybeAmount = None
    rectangle_textures: MaybeFlag = None
    float_texture_kinds: Fact[Several[Line]] | None = None
    float_filters: Fact[Several[Line]] | None = None
    float_target_bits: Fact[Bits] | None = None
    float_blending_bits: Fact[Bits] | None = None


class Programs(Section):
    """The programs that run for each fragment.

    language: the one in which fragments are programmed. arb_fragment_program: whether that is, or
    includes, the language of this package. kernels: whether the chip runs compute kernels, by any
    interface, CUDA and OpenCL included. work_group_threads: the most of a work group.
    options: of NVIDIA's, with condition codes and, the second, branches; absent if it has none.
    operations: the opcodes that have an equivalent; absent if all have one.
    swizzles: whether an arithmetic operand may have its components in any order.
    instruction_set: for a chip with few native swizzles, the file that lists them
    (chips/native.py). arithmetic: the number format, in words. rounding: how its results are
    rounded; absent if that is not known.
    """

    language: MaybeLine = None
    arb_fragment_program: MaybeFlag = None
    options: Fact[Several[Line]] | None = None
    operations: Fact[Several[Line]] | None = None
    swizzles: MaybeFlag = None
    instruction_set: Fact[Name] | None = None
    arithmetic: MaybeLine = None
    rounding: MaybeLine = None
    kernels: MaybeFlag = None
    work_group_threads: MaybeLimit = None


class TextureEnvironments(Section):
    """Combining textures without a program: the texture environments of OpenGL.

    units: MAX_TEXTURE_UNITS, 0 if there are none; for an API, the promised number. combine,
    dot3, crossbar: whether it has COMBINE, its DOT3 functions and TEXTUREn as a source.
    unclamped: whether colours may be left unclamped (ARB_color_buffer_float).
    """

    units: MaybeLimit = None
    combine: MaybeFlag = None
    dot3: MaybeFlag = None
    crossbar: MaybeFlag = None
    unclamped: MaybeFlag = None


class Limits(Section):
    """A program's limits: the largest number allowed of each, or UNLIMITED."""

    alu_instructions: MaybeLimit = None
    texture_instructions: MaybeLimit = None
    instructions: MaybeLimit = None
    indirections: MaybeLimit = None
    temporaries: MaybeLimit = None
    parameters: MaybeLimit = None
    attributes: MaybeLimit = None
    coordinate_sets: MaybeLimit = None
    image_units: MaybeLimit = None
    local_parameters: MaybeLimit = None
    env_parameters: MaybeLimit = None
    color_outputs: MaybeLimit = None


class Profile(Record):
    """A chip or an API: everything that is known about it.

    advertised: the limits that the API reports. native: those of the hardware; an API has none.
    notes: facts that are not numbers. executor: the one that a calibration measured; None for a
    chip from data sheets. provenance: of a calibration.
    """

    name: Name
    title: Line
    kind: ProfileKind
    aliases: Several[Name] = ()
    released: MaybeLine = None
    notes: Several[OneLine] = ()
    executor: Name | None = None
    provenance: Recorded | None = None
    hardware: Hardware = Hardware()
    formats: Formats = Formats()
    programs: Programs = Programs()
    fixed_function: TextureEnvironments = TextureEnvironments()
    advertised: Limits = Limits()
    native: Limits = Limits()

    @property
    def called(self) -> str:
        """Its title, as it appears in a sentence."""
        return f"the {self.title}" if self.kind is ProfileKind.CHIP else self.title

    def facts(self) -> Iterator[tuple[str, Fact[Any]]]:
        """Every fact, with its place in the file: `native.temporaries`."""
        if self.released is not None:
            yield "released", self.released
        for section in self.__struct_fields__:
            table = getattr(self, section)
            if isinstance(table, Section):
                yield from ((f"{section}.{name}", fact) for name, fact in table.facts())


# Reading them -------------------------------------------------------------------------------

MEASURED = "measured"
"""The tag of calibrated numbers."""

GIVEN = "given"
"""The tag of numbers that a user gives."""

_FOLDER = files("gpgpu_legacy.chips").joinpath("profiles")
_RECORDED = _FOLDER.joinpath("recorded")
_SOURCES = "sources.toml"


@cache
def sources() -> dict[str, str]:
    """The sources of the numbers, by tag."""
    return from_toml(_FOLDER.joinpath(_SOURCES).read_text("utf-8"), dict[str, str], _SOURCES)


def all_sources() -> dict[str, str]:
    """The sources by tag, and those of numbers that no chip of the package has."""
    calibrated = "measured by `gpgpu-legacy calibrate`"
    return {**sources(), MEASURED: calibrated, GIVEN: "given with the question"}


def read_profile(text: str, file: str) -> Profile:
    """A profile from the text of its file; InputError if the text does not have that form."""
    return _sourced(from_toml(text, Profile, file), file)


def _sourced(profile: Profile, file: str) -> Profile:
    """The profile; InputError if one of its facts has no known source."""
    _check_sources(profile.facts(), all_sources(), file)
    return profile


def _check_sources(facts: Iterable[tuple[str, Fact[Any]]], tags: Container[str], file: str) -> None:
    """InputError if a fact's source is not among the tags."""
    for place, fact in facts:
        if fact.source not in tags:
            raise InputError(f"{file}, {place}: there is no source {fact.source!r}")


def read_named(kind: type[F], file: str, text: str | None = None) -> F:
    """The record of a file beside this module; InputError if it does not have that form.

    text: instead of the file's.
    """
    if text is None:
        text = files("gpgpu_legacy.chips").joinpath(file).read_text("utf-8")
    read = from_toml(text, kind, file)
    *_, tables = fields_of(read).values()
    for table in tables:
        _check_sources(table.facts(), read.sources, f"{file}, {table.name}")
    return read


def find_named(name: str, known: Sequence[N], what: str) -> N:
    """The record of that name; InputError, with the known names, if there is none.

    what: their kind, in words for the message.
    """
    for one in known:
        if one.name == name:
            return one
    names = ", ".join(one.name for one in known)
    raise InputError(f"there is no {what} {name!r}; choose from {names}")


@cache
def _packaged_texts() -> dict[str, str]:
    """The texts of the package's own profiles, by file name."""
    return _texts(_FOLDER)


def _texts(folder: Traversable) -> dict[str, str]:
    """The texts of a folder's profiles, by file name and in its order."""
    paths = (path for path in folder.iterdir() if path.name.endswith(".toml"))
    return {
        path.name: path.read_text("utf-8")
        for path in sorted(paths, key=lambda path: str(path.name))
        if path.name != _SOURCES
    }


@cache
def _packaged(file: str) -> Profile:
    return read_profile(_packaged_texts()[file], file)


@cache
def profiles() -> tuple[Profile, ...]:
    """All profiles: chips in the order of their release, then APIs by name."""
    return tuple(sorted(map(_packaged, _packaged_texts()), key=_order))


def _order(profile: Profile) -> tuple[bool, str, str]:
    chip = profile.kind is ProfileKind.CHIP
    return not chip, profile.released.value if chip and profile.released else "", profile.name


@cache
def recorded() -> tuple[Profile, ...]:
    """The calibrations of the machines on which measurements were recorded, by name."""
    texts = _texts(_RECORDED).items()
    return tuple(read_profile(text, f"{_RECORDED.name}/{name}") for name, text in texts)


VARIABLE = "GPGPU_LEGACY_PROFILES"


def calibrated_folder() -> Path:
    """The folder for profiles from `gpgpu-legacy calibrate`; it may not exist yet."""
    given = os.environ.get(VARIABLE, "").strip()
    return Path(given) if given else data_folder() / "profiles"


def calibrated_name(executor: str) -> str:
    """The name of an executor's profile on this machine: `this-jit`."""
    return f"this-{executor}"


MOST_PROFILES = 1000
"""The most profiles in the user's folder, all of which are read to find one by its name."""


def calibrated() -> tuple[Profile, ...]:
    """The profiles measured on this machine and the user's own profiles, by file name.

    A file that cannot be read gives a warning and is left out, so that the others can be used.
    """
    own = []
    for path in _own_files():
        try:
            own.append(_own_profile(path))
        except InputError as error:
            warn(f"{error}; this chip is left out", GpgpuLegacyWarning, stacklevel=2)
    return tuple(own)


def _own_files() -> list[Path]:
    try:
        paths = sorted(calibrated_folder().glob("[!.]*.toml"))
    except (InputError, OSError, ValueError):  # a user without a home has calibrated nothing
        return []
    if len(paths) > MOST_PROFILES:
        raise InputError(
            f"{calibrated_folder()} has {len(paths)} .toml files, and at most {MOST_PROFILES} are "
            f"read; name a folder of profiles alone in {VARIABLE}"
        )
    return paths


def _own_profile(path: Path) -> Profile:
    """The profile in a file of the user; InputError if it is not one, or there is no file."""
    return _sourced(read_toml(path, Profile), str(path))


# Finding them -------------------------------------------------------------------------------


def hyphenated(name: str) -> str:
    """A name in lower case and with hyphens: Radeon 9700 as radeon-9700."""
    return "-".join(name.lower().replace("_", " ").replace("-", " ").split())


def find_profile(name: str) -> Profile:
    """The profile of that name or alias: the package's, a recorded one, or one calibrated here.

    Capitals, spaces and underscores make no difference: `Radeon 9700` is radeon-9700. Raises
    InputError, with the nearest names, if there is none.
    """
    plain = hyphenated(name)
    # Few files contain the name: the others need not be parsed.
    likely = (_packaged(file) for file, text in _packaged_texts().items() if f'"{plain}"' in text)
    for profile in likely:
        if plain in _names(profile):
            return profile
    for path in _own_files():
        if path.stem == plain:  # a fault in this one is an error, not a warning
            _own_profile(path)
    others = {name: profile for profile in (*calibrated(), *recorded()) for name in _names(profile)}
    if plain in others:
        return others[plain]
    known = [name for profile in profiles() for name in _names(profile)]
    close = get_close_matches(plain, (*others, *known), n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else "see `gpgpu-legacy chips`"
    raise InputError(f"there is no chip {name!r}; {hint}")


def _names(profile: Profile) -> tuple[str, ...]:
    return profile.name, *profile.aliases
