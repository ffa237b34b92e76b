"""What tuning has found on this machine, kept from process to process, and how `auto` uses it.

It is one file in the user's data folder: for each device with its driver, and each method, the
fastest way that `tune` (measure/tune.py) has found. GPGPU_LEGACY_TUNING is another file to keep it
in, or `off`: then nothing is kept or used.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.errors import ExecutorUnavailableError, InputError
from gpgpu_legacy.isa.arithmetic import FP32
from gpgpu_legacy.lower.workgroups import GroupShape
from gpgpu_legacy.runtime.devices import processor
from gpgpu_legacy.runtime.executor import Tuning
from gpgpu_legacy.runtime.registry import executor_names

VARIABLE, OFF = "GPGPU_LEGACY_TUNING", "off"


@dataclass(frozen=True, slots=True)
class Place:
    """A machine, as far as times depend on it: its devices, and the driver of its OpenGL."""

    device: str
    driver: str


@cache
def here() -> Place:
    """The machine that this runs on. Makes the process's OpenGL context, where there can be one."""
    from gpgpu_legacy.runtime import gl

    try:
        ctx = gl.context()
    except ExecutorUnavailableError:
        return Place(processor(), "no OpenGL")
    renderer, version = str(ctx.info["GL_RENDERER"]), str(ctx.info["GL_VERSION"])
    if ctx.is_hardware:
        return Place(f"{renderer}; {processor()}", f"OpenGL {version}")
    return Place(processor(), f"OpenGL {version}, {renderer}")


# A way to compute a product --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Way:
    """How a method's product is computed. block, accumulate: None where the method has none."""

    executor: str
    block: int | None = None
    accumulate: Accumulate | None = None
    tuning: Tuning | None = None

    def __str__(self) -> str:
        """The way in words, what is left to the executor's own rule not told."""
        parts = [self.executor]
        if self.block is not None:
            parts.append(f"b = {self.block}")
        if self.accumulate is not None:
            parts.append(self.accumulate.value)
        if self.tuning is not None and self.tuning.group is not None:
            group = self.tuning.group
            across, up = group.threads
            parts.append(
                f"{across}×{up} threads of {group.strips}×{group.rows} fragments, "
                f"{group.adjacent} side by side, {group.depth} turns staged, "
                f"{group.together} unrolled"
            )
        if self.tuning is not None and self.tuning.tile is not None:
            rows, strips = self.tuning.tile
            parts.append(f"tiles of {rows} rows and {strips} vectors")
        return ", ".join(parts)

    def as_json(self) -> dict[str, Any]:
        """The way for a file; `way_from_json` reads it."""
        tuning = self.tuning or Tuning()
        return {
            "executor": self.executor,
            "block": self.block,
            "accumulate": self.accumulate.value if self.accumulate else None,
            "group": asdict(tuning.group) if tuning.group else None,
            "tile": list(tuning.tile) if tuning.tile else None,
        }


def way_from_json(data: dict[str, Any]) -> Way:
    """The way that a file holds; KeyError, TypeError or ValueError where it holds none."""
    if data["executor"] not in executor_names():
        raise ValueError(f"there is no executor {data['executor']}")
    accumulate = data["accumulate"]
    group, tile = data["group"], data["tile"]
    shape = None
    if group is not None:
        if group.keys() != {field.name for field in fields(GroupShape)}:
            raise ValueError("its work group is of another version")
        across, up = _positive(*group["threads"])
        _positive(*(value for name, value in group.items() if name != "threads"))
        shape = GroupShape(**{**group, "threads": (across, up)})
    rows_and_strips = None
    if tile is not None:
        rows, strips = _positive(*tile)
        rows_and_strips = rows, strips
    return Way(
        data["executor"],
        None if data["block"] is None else _positive(data["block"])[0],
        None if accumulate is None else Accumulate(accumulate),
        Tuning(shape, rows_and_strips) if shape or rows_and_strips else None,
    )


def _positive(*values: Any) -> tuple[int, ...]:
    if not all(isinstance(value, int) and value > 0 for value in values):
        raise ValueError(f"{values} should be whole numbers above 0")
    return values


# What is kept ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kept:
    """The fastest way found for a method.

    seconds, default_seconds: medians of runs that took turns, on n×n matrices of that size: by this
    way, and by what stands where nothing is tuned. trials: how many ways were tried.
    """

    method: str
    way: Way
    size: int
    seconds: float
    default_seconds: float
    trials: int
    date: str

    def as_json(self) -> dict[str, Any]:
        """For a file; see `_kept_from_json`."""
        return {**asdict(self), "way": self.way.as_json()}


def _kept_from_json(data: dict[str, Any]) -> Kept:
    return Kept(
        str(data["method"]),
        way_from_json(data["way"]),
        int(data["size"]),
        float(data["seconds"]),
        float(data["default_seconds"]),
        int(data["trials"]),
        str(data["date"]),
    )


def is_off() -> bool:
    """Whether GPGPU_LEGACY_TUNING switches all of it off."""
    return os.environ.get(VARIABLE, "").strip().lower() == OFF


def kept_file() -> Path:
    """The file, whether or not there is one yet."""
    given = os.environ.get(VARIABLE, "").strip()
    if given:
        return Path(given)
    from platformdirs import user_data_path

    return user_data_path("gpgpu-legacy", appauthor=False) / "tuning.json"


_Everywhere = dict[Place, dict[str, Kept]]


def _read() -> _Everywhere:
    """All that is kept; InputError, with how to mend it, for a file that holds something else."""
    path = kept_file()
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        found: _Everywhere = {}
        for place in data["places"]:
            entries = [_kept_from_json(each) for each in place["kept"]]
            found[Place(place["device"], place["driver"])] = {e.method: e for e in entries}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"{path} holds no tuning that can be read ({reason}); `gpgpu-legacy tune --forget` "
            f"removes it, {VARIABLE}=off passes it over"
        ) from None
    return found


def _write(everywhere: _Everywhere) -> None:
    """Put the file in place of the one before in one step."""
    places = [
        {**asdict(place), "kept": [each.as_json() for each in kept.values()]}
        for place, kept in everywhere.items()
        if kept
    ]
    path = kept_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=".tuning-", delete=False
        ) as file:
            json.dump({"places": places}, file, indent=2, ensure_ascii=False)
        Path(file.name).replace(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None


def all_kept() -> tuple[Kept, ...]:
    """What is kept for this machine, by method; nothing where tuning is off."""
    if is_off():
        return ()
    everywhere = _read()
    return tuple(everywhere.get(here(), {}).values()) if everywhere else ()


def keep(found: Kept) -> None:
    """Keep a way for later processes, in place of the one before."""
    everywhere = _read()
    everywhere.setdefault(here(), {})[found.method] = found
    _write(everywhere)


def forget(names: Sequence[str] = ()) -> tuple[str, ...]:
    """Forget what is kept for this machine, or for these methods of it; gives what is forgotten.

    A file that cannot be read is removed whole.
    """
    wanted = {find_method(name).name for name in names}
    try:
        everywhere = _read()
    except InputError:
        kept_file().unlink(missing_ok=True)
        return ("a file that could not be read",)
    known = everywhere.get(here(), {}) if everywhere else {}
    gone = tuple(name for name in known if not wanted or name in wanted)
    if gone:
        everywhere[here()] = {name: each for name, each in known.items() if name not in gone}
        _write(everywhere)
    return gone


# What `auto` makes of it -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
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

    What was tuned is the method as it stands by default, so other texture formats, sizes of
    textures and orders of coordinates are left alone, and so are exact runs and other arithmetics.
    A shape of the code goes with the block and the accumulation that it was found with.
    """
    as_asked = Choice(options, executor)
    if executor != "auto" or exact or arithmetic != FP32.name or not _is_usual(method, options):
        return as_asked
    kept = {each.method: each for each in all_kept()}.get(method.name)
    if kept is None:
        return as_asked
    way = kept.way
    chosen = replace(
        options,
        block=way.block if options.block is None else options.block,
        accumulate=way.accumulate if options.accumulate is None else options.accumulate,
    )
    same = (chosen.block, chosen.accumulate) == (way.block, way.accumulate)
    return Choice(chosen, way.executor, way.tuning if same else None)


def _is_usual(method: Method, options: Options) -> bool:
    """Whether they are the method's defaults, but for what a tuned way may choose or bear with."""
    free = ("block", "accumulate", "transpose_a", "transpose_b", "alpha", "beta", "adds")
    usual = method.defaults
    return all(
        getattr(options, field.name) in {None, getattr(usual, field.name)}
        for field in fields(options)
        if field.name not in free
    )
