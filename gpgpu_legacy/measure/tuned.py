"""The results of tuning on this machine, kept between processes, and their use by `auto`.

One file in the user's data folder has the fastest way that `tune` (measure/tune.py) has found for
each algorithm on each device with its driver. The environment variable GPGPU_LEGACY_TUNING names
another file, or is `off`: then nothing is kept or used.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import check_writable, data_folder, make_folder
from gpgpu_legacy.lower.groups.shape import GroupShape
from gpgpu_legacy.measure.timing import Platform, busy_notes, this_platform
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.present.grid import Grid, Result
from gpgpu_legacy.runtime.executor import AUTO, executor_names
from gpgpu_legacy.runtime.machine import DEFAULT_MACHINE, Machine, Tuning
from gpgpu_legacy.serial import (
    Line,
    OneLine,
    Positive,
    Record,
    Recorded,
    Several,
    Size,
    Whole,
    as_record,
    provenance,
    read_recorded,
    write_json,
)

VARIABLE, OFF = "GPGPU_LEGACY_TUNING", "off"


# A way to compute something ----------------------------------------------------------------------


class TunedWay(Record, kw_only=False):
    """A way to compute an algorithm. block, accumulate: its parameters; None if it has none.

    group, tile: see Tuning; None if the executor's own rule decides.
    """

    executor: OneLine
    block: Size | None = None
    accumulate: Accumulate | None = None
    group: GroupShape | None = None
    tile: tuple[Size, Size] | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the algorithm that the way sets."""
        named = {"block": self.block, "accumulate": self.accumulate}
        return {name: value for name, value in named.items() if value is not None}

    @property
    def tuning(self) -> Tuning | None:
        """The shape of the code; None if the executor's own rules decide it."""
        return Tuning(self.group, self.tile) if self.group or self.tile else None

    def __str__(self) -> str:
        """The way in words, without choices that the executor's own rule makes."""
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


class Tuned(Record):
    """The fastest way found for an algorithm on a machine.

    parameters: those given for the search, such as the size. seconds, default_seconds: medians of
    samples taken in turn: by this way, and by the one that is used where nothing is tuned. trials:
    how many ways were tried. finished: whether the search ended before its budget did. date: ISO
    8601.
    """

    device: OneLine
    driver: OneLine
    algorithm: OneLine
    way: TunedWay
    parameters: dict[Line, Line | int | float | bool | None]
    seconds: Positive
    default_seconds: Positive
    trials: Whole
    finished: bool
    date: OneLine

    @property
    def is_here(self) -> bool:
        """Whether it was found on this machine."""
        return Platform(self.device, self.driver) == this_platform()


class TuningFile(Recorded, kw_only=True):
    """The tuning results of all machines that share the user's data folder."""

    WHAT = "what `gpgpu-legacy tune` kept"

    kept: Several[Tuned]


def is_off() -> bool:
    """Whether GPGPU_LEGACY_TUNING switches tuning off."""
    return os.environ.get(VARIABLE, "").strip().lower() == OFF


def tuning_file() -> Path:
    """The file, which need not exist yet."""
    given = os.environ.get(VARIABLE, "").strip()
    return Path(given) if given else data_folder() / "tuning.json"


def state() -> tuple[object, ...]:
    """A value that changes as soon as the kept ways change, or tuning is switched off."""
    wanted = tuple(map(os.environ.get, (VARIABLE, "HOME", "XDG_DATA_HOME")))
    try:
        return *wanted, os.stat(_file_of(wanted)).st_mtime_ns  # noqa: PTH116 - much faster
    except (InputError, OSError):
        return wanted


@lru_cache(maxsize=1)
def _file_of(_: tuple[str | None, ...]) -> Path:
    return tuning_file()


def _read() -> tuple[Tuned, ...]:
    """All results that are kept. Raises InputError for a damaged file."""
    try:
        path = tuning_file()
    except InputError:  # a user without a home has kept nothing
        return ()
    if not os.path.exists(path):  # noqa: PTH110 - of any name, however long
        return ()
    try:
        kept = read_recorded(path, TuningFile).kept
        for tuned in kept:
            if tuned.way.executor not in executor_names():
                raise InputError(f"there is no executor {tuned.way.executor}")
    except InputError as error:
        about = str(error) if str(path) in str(error) else f"{path}: {error}"
        raise InputError(
            f"{about}; remove the file, or name another one in {VARIABLE}, which may be {OFF}"
        ) from None
    return kept


def _write(kept: Iterable[Tuned]) -> None:
    write_json(tuning_file(), TuningFile(**provenance(), kept=tuple(kept)))


def check_tuning_file() -> None:
    """Raise InputError if results could not be kept, before a long search."""
    path = tuning_file()
    make_folder(path.parent)
    check_writable(path)
    _read()


def tuned_here() -> dict[str, Tuned]:
    """The results for this machine, by the algorithm's name; empty if tuning is off."""
    kept = () if is_off() else _read()
    return {tuned.algorithm: tuned for tuned in kept if tuned.is_here}


def keep(new: Tuned) -> None:
    """Keep an algorithm's way for later processes, in place of the one before."""
    make_folder(tuning_file().parent)
    of = new.device, new.driver, new.algorithm
    _write([*(old for old in _read() if (old.device, old.driver, old.algorithm) != of), new])


class TuningReport(Result):
    """The results for this machine. off: whether tuning is off.

    file: where they are kept; None if the user has no home. forgotten: the algorithms whose ways
    were just forgotten; None if nothing was to be forgotten. busy_share: the part of the
    processors' time that other processes took during the search, from 0 to 1; None without a
    search.
    """

    file: str | None
    off: bool
    device: str
    driver: str
    kept: tuple[Tuned, ...]
    forgotten: tuple[str, ...] | None = None
    busy_share: float | None = None

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The ways that are kept."""
        heads = ("algorithm", "fastest way found", "for", "ms", "by default, ms", "gain", "tried",
                 "on")  # fmt: skip
        rows = tuple(
            (
                tuned.algorithm,
                str(tuned.way),
                ", ".join(f"{name} = {value}" for name, value in tuned.parameters.items()),
                1e3 * tuned.seconds,
                1e3 * tuned.default_seconds,
                tuned.default_seconds / tuned.seconds,
                tuned.trials,
                tuned.date,
            )
            for tuned in self.kept
        )
        notes = [
            "`--executor auto` takes these ways; GPGPU_LEGACY_TUNING=off switches that off."
            if rows
            else "Nothing is tuned; `gpgpu-legacy tune` does it.",
            *(
                f"The budget ended the search for {t.algorithm}; a larger one may find more."
                for t in self.kept
                if not t.finished
            ),
            *busy_notes(self.busy_share),
        ]
        if self.off:
            notes = [f"Tuning is off: {VARIABLE}={OFF}."]
        if self.forgotten is not None:
            notes.insert(0, f"Forgot {', '.join(self.forgotten) or 'nothing'}.")
        return [Grid("tuned", f"Tuned on {self.device}, {self.driver}.", heads, rows, tuple(notes))]


def tuning_report(
    names: Collection[str] = (), *, forget: bool = False, busy_share: float | None = None
) -> TuningReport:
    """The results for this machine.

    names: of algorithms; all if empty. forget: whether to forget their results first. busy_share:
    of the search that was just made.
    """
    kept = [tuned for name, tuned in tuned_here().items() if not names or name in names]
    if forget and kept:
        _write(tuned for tuned in _read() if tuned not in kept)
    try:
        file = str(tuning_file())
    except InputError:
        file = None
    return as_record(
        TuningReport,
        this_platform(),
        file=file,
        off=is_off(),
        kept=() if forget else tuple(kept),
        forgotten=tuple(tuned.algorithm for tuned in kept) if forget else None,
        busy_share=busy_share,
    )


# Use by `auto` -----------------------------------------------------------------------------------


_FREE = ("n", "m", "l", "alpha", "beta", "transpose_a", "transpose_b", "block", "accumulate")
"""Parameters that may differ from their defaults in a run that takes a way with parameters."""


def choose(
    algorithm: Algorithm,
    given: Mapping[str, Any],
    executor: str = AUTO,
    machine: Machine = DEFAULT_MACHINE,
) -> tuple[dict[str, Any], str, Machine]:
    """A run's parameters, executor and Machine: the tuned ones if there are any, or as asked for.

    Tuning decides only if the executor is `auto` and the machine has no settings: exact runs and
    other arithmetics stay as they are. So does an algorithm with non-default parameters, if the way
    would set parameters. The shape of the code is used only with the parameters that it was found
    with.
    """
    as_asked = dict(given), executor, machine
    is_usual = (executor, machine) == (AUTO, DEFAULT_MACHINE)
    tuned = tuned_here().get(algorithm.name) if is_usual else None
    if tuned is None:
        return as_asked
    way, known = tuned.way, algorithm.parameters
    asked = algorithm.settings(dict(given))
    if way.parameters and any(
        value != known[name].default for name, value in asked.items() if name not in _FREE
    ):
        return as_asked
    chosen = {**way.parameters, **{n: v for n, v in asked.items() if v is not None}}
    is_same = way.parameters.items() <= chosen.items()
    return chosen, way.executor, Machine(tuning=way.tuning) if is_same else machine


def as_tuned(
    p: PlanBuilder, executor: str = AUTO, machine: Machine = DEFAULT_MACHINE
) -> tuple[PlanBuilder, str, Machine]:
    """A pipeline, an executor and a Machine: from `choose` if an algorithm built the pipeline."""
    if p.family is None:
        return p, executor, machine
    algorithm, given = p.family
    chosen, executor, machine = choose(algorithm, given, executor, machine)
    if chosen != given:
        p = algorithm.builder(**chosen)
    return p, executor, machine
