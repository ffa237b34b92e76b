"""What tuning has found on this machine, kept from process to process, and how `auto` uses it.

It is one file in the user's data folder: for each device with its driver, and each method, the
fastest way that `tune` (measure/tune.py) has found. The environment variable GPGPU_LEGACY_TUNING
names another file, or is `off`: then nothing is kept or used.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.bounded import OneLine, Positive, Several, Size, Whole
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import check_writable, make_folder
from gpgpu_legacy.isa.arithmetic import FP32
from gpgpu_legacy.lower.workgroups import GroupShape
from gpgpu_legacy.measure.platform import Platform, this_platform
from gpgpu_legacy.runtime.machine import Tuning
from gpgpu_legacy.runtime.registry import AUTO, executor_names
from gpgpu_legacy.serial import (
    Record,
    Recorded,
    as_record,
    provenance,
    read_recorded,
    write_json,
)
from gpgpu_legacy.userdirs import data_folder

VARIABLE, OFF = "GPGPU_LEGACY_TUNING", "off"


# A way to compute a product --------------------------------------------------------------------


class Way(Record, kw_only=False):
    """How a method's product is computed. block, accumulate: None where the method has none.

    group, tile: see Tuning; None where the executor's own rule decides.
    """

    executor: OneLine
    block: Size | None = None
    accumulate: Accumulate | None = None
    group: GroupShape | None = None
    tile: tuple[Size, Size] | None = None

    @property
    def tuning(self) -> Tuning | None:
        """The shape of the code."""
        return Tuning(self.group, self.tile) if self.group or self.tile else None

    def __str__(self) -> str:
        """The way in words, without what the executor's own rule decides."""
        parts = [self.executor]
        if self.block is not None:
            parts.append(f"b = {self.block}")
        if self.accumulate is not None:
            parts.append(self.accumulate.value)
        if self.group is not None:
            group = self.group
            across, up = group.threads
            parts.append(
                f"workgroups of {across}×{up}, register tiles of {group.columns}×{group.rows} with "
                f"{group.adjacent} adjacent, K-depth {group.k_depth}, unrolled by {group.unroll}"
            )
        if self.tile is not None:
            rows, vectors = self.tile
            parts.append(f"tiles of {rows} rows and {vectors} vectors")
        return ", ".join(parts)


# What is kept ------------------------------------------------------------------------------------


class TunedMethod(Record):
    """The fastest way found for a method.

    seconds, default_seconds: medians of samples taken in turn, on n×n matrices of that size: by
    this way, and by the one that is used where nothing is tuned. trials: how many ways were tried.
    date: ISO 8601.
    """

    method: OneLine
    way: Way
    size: Size
    seconds: Positive
    default_seconds: Positive
    trials: Whole
    date: OneLine


class TunedPlatform(Record):
    """The tuning results of one machine."""

    device: OneLine
    driver: OneLine
    kept: Several[TunedMethod]


class TuningFile(Recorded, kw_only=True):
    """The tuning results of all machines that share the user's data folder."""

    WHAT = "what `gpgpu-legacy tune` kept"

    places: Several[TunedPlatform]


def is_off() -> bool:
    """Whether GPGPU_LEGACY_TUNING switches tuning off."""
    return os.environ.get(VARIABLE, "").strip().lower() == OFF


def tuning_file() -> Path:
    """The file, which need not exist yet."""
    given = os.environ.get(VARIABLE, "").strip()
    return Path(given) if given else data_folder() / "tuning.json"


_Everywhere = dict[Platform, dict[str, TunedMethod]]


def _read() -> _Everywhere:
    """All that is kept. Raises InputError, with how to mend it, for a file that is damaged."""
    try:
        path = tuning_file()
    except InputError:  # a user without a home has kept nothing
        return {}
    if not os.path.exists(path):  # noqa: PTH110 - of any name, however long
        return {}
    everywhere: _Everywhere = {}
    try:
        for place in read_recorded(path, TuningFile).places:
            for tuned in place.kept:
                if tuned.way.executor not in executor_names():
                    raise InputError(f"there is no executor {tuned.way.executor}")
            platform = Platform(place.device, place.driver)
            everywhere[platform] = {tuned.method: tuned for tuned in place.kept}
    except InputError as error:
        about = str(error) if str(path) in str(error) else f"{path}: {error}"
        raise InputError(
            f"{about}; remove the file, or name another one in {VARIABLE}, which may be {OFF}"
        ) from None
    return everywhere


def _write(everywhere: _Everywhere) -> None:
    places = tuple(
        as_record(TunedPlatform, platform, kept=tuple(kept.values()))
        for platform, kept in everywhere.items()
        if kept
    )
    write_json(tuning_file(), TuningFile(**provenance(), places=places))


def check_tuning_file() -> None:
    """InputError where what is found could not be kept, before it takes long to find it."""
    path = tuning_file()
    make_folder(path.parent)
    check_writable(path)
    _read()


def tuned_methods() -> tuple[TunedMethod, ...]:
    """What is kept for this machine, by method; empty where tuning is off."""
    if is_off():
        return ()
    everywhere = _read()
    return tuple(everywhere.get(this_platform(), {}).values()) if everywhere else ()


def keep(tuned: TunedMethod) -> None:
    """Keep a method's way for later processes, in place of the one before."""
    make_folder(tuning_file().parent)
    everywhere = _read()
    everywhere.setdefault(this_platform(), {})[tuned.method] = tuned
    _write(everywhere)


def forget(names: Sequence[str] = ()) -> tuple[str, ...]:
    """Forget what is kept for this machine, or for these methods of it; gives what is forgotten."""
    wanted = {find_method(name).name for name in names}
    everywhere, here = _read(), this_platform()
    known = everywhere.get(here, {})
    gone = tuple(name for name in known if not wanted or name in wanted)
    if gone:
        everywhere[here] = {name: tuned for name, tuned in known.items() if name not in gone}
        _write(everywhere)
    return gone


# What `auto` makes of it -------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """What to run: the options, with a tuned block where the user gave none, and on what."""

    options: Options
    executor: str
    tuning: Tuning | None = None


def choose(
    method: Method,
    options: Options,
    executor: str,
    *,
    exact: bool = False,
    arithmetic: str = FP32.name,
) -> Choice:
    """The tuned way for what is left to `auto`, where there is one; else what was asked for.

    A method is tuned with its default options. So runs with other texture formats, texture sizes or
    orders of coordinates stay as they are, and so do exact runs and other arithmetics. The shape of
    the code is used only with the block and the accumulation that it was found with.
    """
    as_asked = Choice(options, executor)
    if executor != AUTO or exact or arithmetic != FP32.name or not _is_usual(method, options):
        return as_asked
    tuned = {tuned.method: tuned for tuned in tuned_methods()}.get(method.name)
    if tuned is None:
        return as_asked
    way = tuned.way
    chosen = replace(
        options,
        block=way.block if options.block is None else options.block,
        accumulate=way.accumulate if options.accumulate is None else options.accumulate,
    )
    same = (chosen.block, chosen.accumulate) == (way.block, way.accumulate)
    return Choice(chosen, way.executor, way.tuning if same else None)


def _is_usual(method: Method, options: Options) -> bool:
    """Whether options are the method's defaults, but for those that any tuned way works with."""
    free = ("block", "accumulate", "transpose_a", "transpose_b", "alpha", "beta", "adds")
    usual = method.defaults
    return all(
        getattr(options, field.name) in {None, getattr(usual, field.name)}
        for field in fields(options)
        if field.name not in free
    )
