"""The ceilings of this machine, measured: a profile of it for predict/model.py, one an executor.

Each ceiling has a plan that does one thing: multiply-adds, dot products, lookups as a product makes
them, fills, blends, copies, passes of one fragment, transfers. It is made longer until a run takes
long enough to be measured, prepared, run once without being measured, and then several times; the
rate is the median's.

An executor that computes tiles of fragments (lower/workgroups.py) stages what they share, and
nothing else. So its lookups are measured where every fragment has its own; what it stages has a
plan that reads shared memory most of the time; and the rectangles have tiles for the whole chip.
How many that takes is the rate of them all over the rate of one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from tempfile import NamedTemporaryFile

import numpy as np

from gpgpu_legacy.algorithms.matmul.tiles import corners
from gpgpu_legacy.chips.profile import (
    Profile,
    calibrated_folder,
    calibrated_name,
    read_profile,
)
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.languages.arb.shaders import load_program
from gpgpu_legacy.lower.workgroups import GroupShape
from gpgpu_legacy.plan.formats import R32F, RGBA32F, Format
from gpgpu_legacy.plan.plan import (
    ONE_PER_TEXEL,
    Affine,
    Binding,
    Blend,
    ComputePass,
    Extent,
    FragmentPass,
    Input,
    Matrix,
    Output,
    ParameterValue,
    Plan,
    Rect,
    Region,
    Repeat,
    Step,
    Texcoords,
    Texture,
    TextureKind,
)
from gpgpu_legacy.runtime.executor import F32, Executor, Prepared, Timings
from gpgpu_legacy.runtime.registry import available, find_executor

RUNS, RUN_S, MOST_TURNS = 7, 0.05, 64
SIDE = {R32F: 1024, RGBA32F: 512}  # the textures of a product of 1024×1024 matrices
TILED_SIDE = {R32F: 2048, RGBA32F: 1024}  # 256 tiles
STEPS = 32
MANY = 8  # multiply-adds for two lookups, four times what the multichannel product has
COPY_SIDE, TRANSFER_SIDE = 2048, 1024
ARITHMETIC, TILES = "fragment_peak_gflops", "tiles_at_once"
TILE = GroupShape()  # of what has four channels
_OPERATIONS_A_LOOKUP = (("lookups_32_bits_g_per_s", 1), ("lookups_128_bits_g_per_s", 4))
_LONG = 4096  # turns of what looks up the same texels in each
_SHORT_PASSES = 16  # a pass of one fragment is as short as a pass can be: more of them a turn


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A rate in the profile's unit: the median, and the slowest and fastest run's."""

    name: str
    value: float
    lowest: float
    highest: float
    runs: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """An executor's ceilings, and its profile: as text, and read back from it."""

    executor: str
    device: str
    ceilings: tuple[Ceiling, ...]
    text: str
    profile: Profile


@dataclass(frozen=True, slots=True)
class _Task:
    """What measures one ceiling.

    build: the plan, so many turns long. work: what a turn of it comes to, in the unit of the rate.
    seconds: which of the times it is about. slowness: the ceiling is seconds over work, in place of
    work over seconds. of_tiles: it is nothing that an executor without tiles has.
    """

    name: str
    build: Callable[[int], Plan]
    work: float
    seconds: Callable[[Timings], float] = lambda timings: timings.compute_s
    most_turns: int = MOST_TURNS
    slowness: bool = False
    of_tiles: bool = False


def calibratable(names: Sequence[str] = ()) -> list[Executor]:
    """The executors to calibrate: those named, or all that work here but the reference machine."""
    if names:
        return [find_executor(name) for name in dict.fromkeys(names)]
    return [each for each in available() if not each.capabilities.is_reference]


def calibrate(
    executor: Executor,
    *,
    runs: int = RUNS,
    run_s: float = RUN_S,
    progress: Callable[[str], None] | None = None,
) -> Calibration:
    """Measure an executor's ceilings.

    runs: how many are measured for each. run_s: seconds that a run should take at least.
    """
    if runs < 1:
        raise InputError(f"--repeat is {runs}; it must be at least 1")
    tell, tiled = progress or (lambda _: None), _computes_tiles(executor)
    trials = []
    with ExitStack() as held:
        for task in _tasks(tiled=tiled):
            if tiled or not task.of_tiles:
                trials.append(_ready(executor, task, run_s, held))
            tell(f"{executor.name}: {task.name}")
        for number in range(runs):  # in rounds: what slows the machine down meets all of them
            for trial in trials:
                trial.times.append(trial.run())
            tell(f"{executor.name}: round {number + 1} of {runs}")
    found = _ceilings(trials)
    device = executor.device()
    text = _profile_text(executor, device, found)
    profile = read_profile(text, calibrated_name(executor.name))
    return Calibration(executor.name, device, tuple(found), text, profile)


def _computes_tiles(executor: Executor) -> bool:
    """Whether fragments are computed in tiles by work groups, which stage what they share."""
    return "group" in executor.capabilities.tuning


def count_steps(runs: int = RUNS) -> int:
    """How often `calibrate` reports progress."""
    return len(_tasks(tiled=False)) + runs


def write_calibration(made: Calibration, path: Path | None = None) -> Path:
    """Write the profile, by default where `find_profile` looks; gives the file's path.

    The file takes the place of the one before in one step. InputError where it cannot be written.
    """
    to = path or calibrated_folder() / f"{made.profile.name}.toml"
    try:
        if path is None:
            to.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(
            "w", encoding="utf-8", dir=to.parent, prefix=".profile-", delete=False
        ) as file:
            file.write(made.text)
        Path(file.name).replace(to)
    except OSError as error:
        raise InputError(f"{to} cannot be written: {error.strerror or error}") from None
    return to


# Measuring -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Trial:
    """A task with its plan, so many turns long, prepared, and the seconds of its runs."""

    task: _Task
    turns: int
    prepared: Prepared
    operands: dict[str, F32]
    times: list[float] = field(default_factory=list)

    def run(self) -> float:
        """The seconds of a run that the task is about."""
        return max(self.task.seconds(self.prepared.run(self.operands).timings), 1e-9)

    def ceiling(self) -> Ceiling:
        amount = self.task.work * self.turns
        rates = [t / amount if self.task.slowness else amount / t for t in self.times]
        return Ceiling(self.task.name, median(rates), min(rates), max(rates), len(rates))


def _ceilings(trials: Sequence[_Trial]) -> list[Ceiling]:
    """One of each name. The peak of arithmetic is the most that any of the programs got.

    The walks multiply and add too, once for two lookups, 2 operations on each channel. How many
    tiles are computed at once is the peak over the rate of one tile.
    """
    measured = [trial.ceiling() for trial in trials]
    peaks = [each for each in measured if each.name == ARITHMETIC]
    alone = [each for each in measured if each.name == TILES]
    others = [each for each in measured if each.name not in (ARITHMETIC, TILES)]
    peaks += [
        Ceiling(ARITHMETIC, c * each.value, c * each.lowest, c * each.highest, each.runs)
        for each in others
        for name, c in _OPERATIONS_A_LOOKUP
        if each.name == name
    ]
    peak = max(peaks, key=lambda peak: peak.value)
    tiles = [
        Ceiling(TILES, peak.value / c.value, peak.value / c.highest, peak.value / c.lowest, c.runs)
        for c in alone
    ]
    return [peak, *others, *tiles]


def _ready(executor: Executor, task: _Task, run_s: float, held: ExitStack) -> _Trial:
    """A task as long as a run should be, once run; `held` closes it."""
    turns = 1
    while True:
        with ExitStack() as own:
            trial = _trial(executor, task, turns, own)
            taken = trial.run()
            if taken >= run_s or turns >= task.most_turns:
                held.push(own.pop_all())
                return trial
        longer = max(2 * turns, int(1.5 * turns * run_s / taken))
        turns = min(task.most_turns, longer)


def _trial(executor: Executor, task: _Task, turns: int, held: ExitStack) -> _Trial:
    plan = task.build(turns)
    generator = np.random.default_rng(0)
    operands = {
        m.name: generator.random((m.rows, m.columns), np.float32) - np.float32(0.5)
        for m in plan.operands
    }
    return _Trial(task, turns, held.enter_context(executor.prepare(plan)), operands)


# The plans -------------------------------------------------------------------------------------


def _tasks(*, tiled: bool) -> tuple[_Task, ...]:
    """Every ceiling, by the name of its field in the profile; arithmetic in two ways."""
    sides = TILED_SIDE if tiled else SIDE
    side = sides[RGBA32F]
    transfer_gb = TRANSFER_SIDE**2 * R32F.texel_bytes / 1e9
    step_gflop = 8 * side**2 * STEPS / 1e9
    tile_gflop = 8 * TILE.tile[0] * TILE.tile[1] * STEPS / 1e9
    columns_gb = RGBA32F.texel_bytes * STEPS * side**2 / TILE.rows / 1e9
    dots_g = 8 * STEPS * side**2 / 1e9
    return (
        _Task(ARITHMETIC, _multiply_adds, 4 * 8 * SIDE[RGBA32F] ** 2 * STEPS / 1e9),
        _walk_of_arithmetic(ARITHMETIC, side, MANY * step_gflop, tiled=tiled),
        _walk_of_arithmetic(TILES, TILE.tile[0], MANY * tile_gflop, tiled=True),
        _Task("dots_g_per_s", lambda turns: _dot_products(turns, side), dots_g),
        *_lookup_tasks(tiled=tiled),
        _Task(
            "shared_memory_gb_per_s",
            lambda turns: _columns(turns, side),
            columns_gb,
            most_turns=_LONG,
            of_tiles=True,
        ),
        *_write_tasks(),
        _Task("memory_gb_per_s", _copies, 2 * COPY_SIDE**2 * RGBA32F.texel_bytes / 1e9),
        _Task("pass_us", _short_passes, _SHORT_PASSES / 1e6, slowness=True),
        _Task("run_us", lambda _: _short_passes(0), 1 / 1e6, most_turns=1, slowness=True),
        _Task("upload_gb_per_s", _transfers, 2 * transfer_gb, lambda t: t.upload_s, 1),
        _Task("readback_gb_per_s", _transfers, transfer_gb, lambda t: t.readback_s, 1),
    )


def _walk_of_arithmetic(name: str, side: int, gflop: float, *, tiled: bool) -> _Task:
    """A walk with so many multiply-adds that they are what takes time."""
    if tiled:
        return _Task(
            name,
            lambda turns: _lookups(turns, RGBA32F, side, _Walk(MANY, advances=False)),
            gflop,
            most_turns=_LONG,
            of_tiles=name == TILES,
        )
    return _Task(name, lambda turns: _lookups(turns, RGBA32F, side, _Walk(MANY)), gflop)


def _lookup_tasks(*, tiled: bool) -> Iterator[_Task]:
    sides = TILED_SIDE if tiled else SIDE
    walk = _Walk(advances=not tiled, shared=not tiled)
    for bits, texels in ((32, R32F), (128, RGBA32F)):
        yield _Task(
            f"lookups_{bits}_bits_g_per_s",
            lambda turns, texels=texels: _lookups(turns, texels, sides[texels], walk),  # type: ignore[misc]
            2 * STEPS * sides[texels] ** 2 / 1e9,
            most_turns=_LONG if tiled else MOST_TURNS,
        )


def _write_tasks() -> Iterator[_Task]:
    for kind, blend in (("fills", Blend.NONE), ("blends", Blend.ADD)):
        for bits, texels in ((32, R32F), (128, RGBA32F)):
            yield _Task(
                f"{kind}_{bits}_bits_g_per_s",
                lambda turns, texels=texels, blend=blend: _fills(turns, texels, blend),  # type: ignore[misc]
                SIDE[texels] ** 2 / 1e9,
            )


def _texture(name: str, texels: Format, width: int, height: int, *, filled: bool = True) -> Texture:
    value = (0.25, 0.25, 0.25, 0.25) if filled else None
    return Texture(name, TextureKind.RECT, Extent(width, height), texels, value)


def _plan(name: str, textures: Sequence[Texture], steps: Sequence[Step]) -> Plan:
    """A plan that draws into C and gives nothing back."""
    return Plan(f"calibrate-{name}", (), (), tuple(textures), (), tuple(steps), ())


def _local(index: int, value: float) -> ParameterValue:
    return ParameterValue(index, (value, value, value, value))


def _multiply_adds(turns: int) -> Plan:
    """Passes of arithmetic. They are no Repeat, so that each is carried out by itself."""
    side = SIDE[RGBA32F]
    screen = _texture("C", RGBA32F, side, side)
    each = FragmentPass(
        load_program("calibration/multiply_adds.fp.j2", steps=STEPS),
        (),
        screen.name,
        Rect(0, 0, side, side),
        (corners(0, (0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.0)),),
        locals=(_local(0, 0.5), _local(1, 0.25)),
    )
    return _plan("multiply-adds", (screen,), (each,) * turns)


def _dot_products(turns: int, side: int) -> Plan:
    """Passes of a vector times a matrix, each by itself."""
    screen = _texture("C", RGBA32F, side, side)
    each = FragmentPass(
        load_program("calibration/transform.fp.j2", steps=STEPS),
        (),
        screen.name,
        Rect(0, 0, side, side),
        (corners(0, (0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.0)),),
        locals=tuple(_local(row, 0.25) for row in range(4)),
    )
    return _plan("dot-products", (screen,), (each,) * turns)


@dataclass(frozen=True, slots=True)
class _Walk:
    """What a walk is like.

    multiply_adds: for each pair of lookups. advances: a turn goes on where the one before it ended,
    and does not start again. shared: fragments of a row, or of a column, look up the same texels.
    """

    multiply_adds: int = 1
    advances: bool = True
    shared: bool = True


def _lookups(turns: int, texels: Format, side: int, walk: _Walk) -> Plan:
    """A walk along A's rows and B's columns, a stretch of it a pass; the framebuffer adds up."""
    along = STEPS * (MOST_TURNS if walk.advances else 1) + (0 if walk.shared else side)
    textures = (
        _texture("A", texels, along, side),
        _texture("B", texels, side, along),
        _texture("C", texels, side, side),
    )
    each = FragmentPass(
        load_program(
            "calibration/lookups.fp.j2",
            steps=STEPS,
            mask=".r" if texels.channels == 1 else "",
            multiply_adds=walk.multiply_adds,
        ),
        (Binding(0, "A"), Binding(1, "B")),
        "C",
        Rect(0, 0, side, side),
        _walked(walk, float(side)),
        locals=(ParameterValue(0, (1.0, 0.0, 0.0, 1.0)),),
        blend=Blend.ADD,
    )
    return _plan("lookups", textures, (Repeat(turns, (each,)),))


def _walked(walk: _Walk, end: float) -> tuple[Texcoords, Texcoords]:
    """(k, i) and (j, k) at the corners; (k + j, i) and (j, k + i) where nothing is shared."""
    step = STEPS if walk.advances else 0
    near, far = Affine(0.5, step), Affine(0.5, step)
    if not walk.shared:
        near, far = Affine(0.0, step), Affine(end, step)
    along_rows = corners(0, (0.0, near), (0.0, far), (end, far), (end, near))
    along_columns = corners(1, (near, 0.0), (near, end), (far, end), (far, 0.0))
    return along_rows, along_columns


def _columns(turns: int, side: int) -> Plan:
    """Sums of what columns of fragments share; every turn reads the same."""
    textures = (_texture("A", RGBA32F, side, STEPS), _texture("C", RGBA32F, side, side))
    end = float(side)
    each = FragmentPass(
        load_program("calibration/columns.fp.j2", steps=STEPS),
        (Binding(0, "A"),),
        "C",
        Rect(0, 0, side, side),
        (corners(0, (0.5, 0.0), (0.5, end), (0.5, end), (0.5, 0.0)),),
        locals=(ParameterValue(0, (0.0, 1.0, 0.0, 0.0)),),
        blend=Blend.ADD,
    )
    return _plan("columns", textures, (Repeat(turns, (each,)),))


def _fills(turns: int, texels: Format, blend: Blend) -> Plan:
    side = SIDE[texels]
    return _plan("fill", (_texture("C", texels, side, side),), (_fill("C", side, blend),) * turns)


def _fill(target: str, side: int, blend: Blend = Blend.NONE) -> FragmentPass:
    program = load_program("calibration/fill.fp")
    rect = Rect(0, 0, side, side)
    return FragmentPass(program, (), target, rect, locals=(_local(0, 0.25),), blend=blend)


def _copies(turns: int) -> Plan:
    """Copies, which are drawn: larger than a cache, and each a pass by itself."""
    end = float(COPY_SIDE)
    textures = [_texture(name, RGBA32F, COPY_SIDE, COPY_SIDE) for name in ("A", "C")]
    each = FragmentPass(
        load_program("calibration/copy.fp"),
        (Binding(0, "A"),),
        "C",
        Rect(0, 0, COPY_SIDE, COPY_SIDE),
        (corners(0, (0.0, 0.0), (0.0, end), (end, end), (end, 0.0)),),
    )
    return _plan("copies", textures, (each,) * turns)


def _short_passes(turns: int) -> Plan:
    """Passes of one fragment; no turn is one pass."""
    steps = (_fill("C", 1),) * max(1, _SHORT_PASSES * turns)
    return _plan("passes", (_texture("C", RGBA32F, 1, 1),), steps)


def _transfers(turns: int) -> Plan:
    """Two matrices up and one back, as a product has it; longer it does not get."""
    del turns
    side = TRANSFER_SIDE
    rect, region = Rect(0, 0, side, side), Region(0, 0, side, side)
    textures = [_texture(name, R32F, side, side, filled=False) for name in "ABC"]
    inputs = tuple(Input(name, region, name, rect, ONE_PER_TEXEL) for name in "AB")
    return Plan(
        "calibrate-transfers",
        (Matrix("A", side, side), Matrix("B", side, side)),
        (Matrix("C", side, side),),
        tuple(textures),
        inputs,
        (_fill("C", side),),
        (Output("C", region, "C", rect, ONE_PER_TEXEL),),
    )


# The profile -----------------------------------------------------------------------------------


def _profile_text(executor: Executor, device: str, found: Sequence[Ceiling]) -> str:
    """The profile as a file, in the form of those that the package has."""
    chains = executor.capabilities.fuses_passes
    kernels = ComputePass in executor.capabilities.passes
    lines = [
        f"name = {_quoted(calibrated_name(executor.name))}",
        f"title = {_quoted(f'{device}, by {executor.name}')}",
        'kind = "chip"',
        f"notes = [{_quoted(f'Calibrated on {datetime.now(UTC):%Y-%m-%d}; a rate is of a plan that does one thing alone.')}]",  # noqa: E501
        "",
        "[hardware]",
        *(_fact(each.name, f"{each.value:.4g}", _spread(each)) for each in found),
        _fact("chains_passes", str(chains).lower(), "whether a Repeat is carried out in one go"),
        _fact(
            "stages_lookups",
            str(_computes_tiles(executor)).lower(),
            "whether tiles stage what their fragments share",
        ),
        _fact(
            "writes_overlap",
            str(executor.is_hardware()).lower(),
            "whether fragments are written while others are computed",
        ),
        "",
        "[programs]",
        _fact("arb_fragment_program", "true"),
        _fact("kernels", str(kernels).lower()),
        "",
    ]
    return "\n".join(lines)


def _spread(each: Ceiling) -> str:
    return f"median of {each.runs} runs, {each.lowest:.3g} to {each.highest:.3g}"


def _fact(name: str, value: str, note: str = "") -> str:
    more = f", note = {_quoted(note)}" if note else ""
    return f'{name} = {{ value = {value}, source = "measured", confidence = "high"{more} }}'


def _quoted(text: str) -> str:
    """A basic string of TOML, which escapes as JSON does."""
    return json.dumps(text, ensure_ascii=False)
