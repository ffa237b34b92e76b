"""Methods against one another and against their peers: the same product, taking turns.

Every entrant of a size is prepared and run once without being measured. Then come rounds, in each
of which every entrant has one turn, so that a machine that slows down or speeds up does it to all
of them. A turn is one run, or where that is short a few in a row, so that not only the waking of
threads and clocks is measured. A result is the median of its runs. Where memory has no room for all
entrants at once (measure/pool.py), each is closed after its turn, and prepared and run once without
being measured before the next.

What is timed is computing alone: an executor's `Timings.compute_s`, a library's product on operands
that are on its device. Every run of an executor packs and uploads its operands first, during which
a GPU idles; so an executor's times on a GPU are those of a product that comes by itself, and a
clock that sinks while it idles shows in them. A library's runs follow one another closely.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.operands import random_operands
from gpgpu_legacy.algorithms.registry import find_method, methods
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure.peers import F32, OneRun, Ready, peers
from gpgpu_legacy.measure.pool import fit_at_once
from gpgpu_legacy.measure.tuned import Choice, choose, here
from gpgpu_legacy.plan.formats import R32F
from gpgpu_legacy.runtime.executor import Executor, Machine
from gpgpu_legacy.runtime.registry import able, find_executor

SIZES = (256, 512, 1024)
REPEATS, BUDGET_S = 5, 60.0
TURN_S, MOST_RUNS = 0.05, 10  # a turn has as many runs as so many seconds hold, and no more
PROBE_SIZE, PROBE_STEP = 64, 4  # see _Contest.climb
WHOLE_CHECK, ROWS_CHECKED = 1024, 64  # up to which n every row is checked, and how many above

DRIVER_PEER = "driver-arbfp"
_PACKAGES = (
    "gpgpu-legacy", "numpy", "moderngl", "llvmlite", "numba", "torch", "cupy", "cupy-cuda11x",
    "cupy-cuda12x", "cupy-cuda13x",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entrant:
    """A method on an executor, or a peer.

    method: what results call it. of: for a peer that is a method on another executor, that method.
    on_operands: prepares what is run. block, accumulate: None where it has none.
    """

    method: str
    executor: str
    device: str
    on_operands: Ready
    block: int | None = None
    accumulate: Accumulate | None = None
    of: str | None = None
    is_peer: bool = False

    def __str__(self) -> str:
        """The entrant in a few words."""
        of = f" of {self.of}" if self.of else ""
        block = "" if self.block is None else f", b = {self.block}"
        way = "" if self.accumulate is None else f", {self.accumulate.value}"
        return f"{self.method}{of} on {self.executor}{block}{way}"


@dataclass(frozen=True, slots=True)
class Score:
    """An entrant's result at one size.

    times: seconds of its runs, in order. rows_checked: how many rows of the product stand for it
    in the error, which is the largest |C - C64| over the largest |C64|.
    """

    entrant: Entrant
    size: int
    times: tuple[float, ...]
    max_relative_error: float
    rows_checked: int

    @property
    def seconds(self) -> float:
        """The median of the runs."""
        return median(self.times)

    @property
    def gflops(self) -> float | None:
        """2n³ over the seconds; None where they are 0."""
        return 2e-9 * self.size**3 / self.seconds if self.seconds > 0.0 else None

    def as_json(self) -> dict[str, Any]:
        """The score for other programs; a number that is none is None."""
        entrant, error = self.entrant, self.max_relative_error
        return {
            "method": entrant.method,
            "of": entrant.of,
            "peer": entrant.is_peer,
            "executor": entrant.executor,
            "device": entrant.device,
            "size": self.size,
            "block": entrant.block,
            "accumulate": entrant.accumulate.value if entrant.accumulate else None,
            "seconds": self.seconds,
            "spread": [min(self.times), max(self.times)],
            "runs": len(self.times),
            "gflops": self.gflops,
            "max_relative_error": error if np.isfinite(error) else None,
            "rows_checked": self.rows_checked,
        }


@dataclass(frozen=True, slots=True)
class NotRun:
    """An entrant that has no result at a size, and why."""

    entrant: Entrant
    size: int
    reason: str

    def as_json(self) -> dict[str, Any]:
        """For other programs."""
        entrant = self.entrant
        return {
            "method": entrant.method,
            "of": entrant.of,
            "executor": entrant.executor,
            "size": self.size,
            "block": entrant.block,
            "accumulate": entrant.accumulate.value if entrant.accumulate else None,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Scores:
    """What a run of all entrants gave. spent_s: seconds, all told."""

    scores: tuple[Score, ...]
    not_run: tuple[NotRun, ...]
    repeat: int
    budget_s: float
    spent_s: float
    seed: int

    def as_json(self) -> dict[str, Any]:
        """The results for other programs, and what makes them reproducible."""
        place = here()
        return {
            "device": place.device,
            "driver": place.driver,
            "versions": versions(),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "seed": self.seed,
            "repeat": self.repeat,
            "budget_s": self.budget_s,
            "spent_s": self.spent_s,
            "results": [score.as_json() for score in self.scores],
            "not_run": [each.as_json() for each in self.not_run],
        }


def versions() -> dict[str, str]:
    """Of Python, of the packages that results depend on where they are there, and of the BLAS."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    found["blas"] = f"{blas.get('name')} {blas.get('version')}"
    return found


# Who takes part ----------------------------------------------------------------------------------


def entrants(
    method_names: Sequence[str] = (),
    executor_names: Sequence[str] = (),
    blocks: Sequence[int] = (),
    accumulate: Accumulate | None = None,
) -> list[Entrant]:
    """The libraries' own products, then methods by executors by blocks, each with its peer.

    method_names: all methods without; then a block or an accumulation leaves out those that have
    none. executor_names: without, all that can run a method here but for the reference machine.
    Raises InputError for what there is not, ExecutorUnavailableError for what cannot run here.
    """
    chosen = [find_method(name) for name in dict.fromkeys(method_names)]
    found: dict[tuple[Any, ...], Entrant] = {}
    for method in chosen or methods():
        for block in blocks or (None,):
            options = Options(block=block, accumulate=accumulate)
            try:
                method.options(options)
            except InputError:
                if chosen:
                    raise
                continue
            for each in _on_executors(method, options, executor_names):
                found.setdefault((each.method, each.of, each.executor, each.block), each)
    if not found:
        raise InputError("no method takes these options; name the methods with --method")
    libraries = [Entrant(p.name, p.through, p.device, p.on_operands, is_peer=True) for p in peers()]
    return libraries + list(found.values())


def _on_executors(method: Method, options: Options, names: Sequence[str]) -> Iterator[Entrant]:
    """A method's entrants, and the driver's own of the same plan."""
    plan = method.plan(Shape(1, 1, 1), options)
    for name in names:
        tuned = choose(method, options, name)
        executor = find_executor(tuned.executor, plan)
        yield _entrant(method, Choice(tuned.options, executor.name, tuned.tuning), executor)
    fit = able(plan)
    for executor in fit:
        has = executor.capabilities
        if not names and not has.is_reference and not has.runs_driver_programs:
            yield _entrant(method, Choice(options, executor.name), executor)
    for executor in fit:
        if executor.capabilities.runs_driver_programs:
            yield _entrant(method, Choice(options, executor.name), executor, is_peer=True)


def _entrant(
    method: Method, choice: Choice, executor: Executor, *, is_peer: bool = False
) -> Entrant:
    options = method.options(choice.options)
    machine = Machine(tuning=choice.tuning)

    @contextmanager
    def on_operands(a: F32, b: F32) -> Iterator[OneRun]:
        plan = method.plan(Shape(a.shape[0], a.shape[1], b.shape[1]), options)
        with executor.prepare(plan, machine) as prepared:

            def one_run() -> tuple[float, F32]:
                result = prepared.run({"A": a, "B": b})
                return result.timings.compute_s, result.outputs["C"]

            yield one_run

    return Entrant(
        DRIVER_PEER if is_peer else method.name,
        executor.name,
        executor.device(),
        on_operands,
        options.block,
        options.accumulate,
        method.name if is_peer else None,
        is_peer,
    )


# Taking turns ------------------------------------------------------------------------------------


def count_turns(entered: Sequence[Entrant], sizes: Iterable[int], repeat: int) -> int:
    """How often `measure` reports progress."""
    return len(entered) * len(set(sizes)) * (repeat + 1)


def measure(
    entered: Sequence[Entrant],
    sizes: Iterable[int] = SIZES,
    repeat: int = REPEATS,
    budget_s: float = BUDGET_S,
    *,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    clock: Callable[[], float] = perf_counter,
) -> Scores:
    """Measure all entrants at all sizes, the smallest first, on random matrices.

    repeat: how many turns each has at a size. budget_s: seconds for all of it: a run that is
    expected to take more than what is left of them is not begun, and an entrant that has had none
    is listed as not run. progress: called once a turn, whether or not it is taken.
    Raises InputError for sizes, repeats or a budget that are none.
    """
    wanted = sorted(set(sizes))
    if not wanted or wanted[0] < 1:
        raise InputError(f"the size is {wanted[0] if wanted else 0}; it must be at least 1")
    if repeat < 1:
        raise InputError(f"--repeat is {repeat}; it must be at least 1")
    if not budget_s >= 0.0:
        raise InputError(f"the budget is {budget_s}; give a number of seconds, 0 or more")
    started = clock()
    contest = _Contest(repeat, started + budget_s, clock, seed, progress or (lambda _: None))
    for size in wanted:
        contest.hold(entered, size)
    return Scores(
        tuple(contest.scores),
        tuple(contest.not_run),
        repeat,
        budget_s,
        clock() - started,
        seed,
    )


@dataclass(slots=True)
class _Player:
    """An entrant while a size is measured.

    runs: in each of its turns. opening_s: what it takes to prepare it and run it once.
    expected_s: what its next run takes, all told. one_run: None where it is closed between turns.
    """

    entrant: Entrant
    runs: int
    opening_s: float
    expected_s: float
    error: float
    one_run: OneRun | None = None
    times: list[float] = field(default_factory=list)


class _Task:
    """What is multiplied at a size.

    fits: whether all entrants may stay prepared at once. held: what closes them, if so.
    """

    def __init__(self, a: F32, b: F32, fits: bool) -> None:
        self.a, self.b, self.fits = a, b, fits
        self.check, self.held = _Check(a, b), ExitStack()


class _Contest:
    """Sizes one after another, with what is known of each entrant's times."""

    def __init__(
        self,
        repeat: int,
        deadline: float,
        clock: Callable[[], float],
        seed: int,
        progress: Callable[[str], None],
    ) -> None:
        self.repeat, self.deadline, self.clock = repeat, deadline, clock
        self.seed, self.progress = seed, progress
        self.known: dict[Entrant, tuple[int, float]] = {}
        self.scores: list[Score] = []
        self.not_run: list[NotRun] = []

    def hold(self, entered: Sequence[Entrant], size: int) -> None:
        """All rounds of one size."""
        task = _Task(*_operands(size, self.seed), fit_at_once(size) >= len(entered))
        players = []
        with task.held:
            for entrant in entered:
                found = self.warm_up(entrant, task)
                turns = 1
                if isinstance(found, _Player):
                    players.append(found)
                else:
                    self.not_run.append(NotRun(entrant, size, found))
                    turns += self.repeat
                for _ in range(turns):
                    self.progress(f"n = {size}: {entrant.method} on {entrant.executor}")
            for number in range(self.repeat):
                for player in players:
                    self.take(player, task)
                    self.progress(f"n = {size}, round {number + 1} of {self.repeat}")
        for player in players:
            self.end(player, size, len(task.check.rows))

    def warm_up(self, entrant: Entrant, task: _Task) -> _Player | str:
        """An entrant after its unmeasured run; why not, where it has none."""
        try:
            too_long = self.climb(entrant, len(task.a))
            if too_long is not None:
                return too_long
            started = self.clock()
            with ExitStack() as own:
                one_run = own.enter_context(entrant.on_operands(task.a, task.b))
                seconds, product = one_run()
                opening_s = self.clock() - started
                runs = max(1, min(MOST_RUNS, int(TURN_S / max(seconds, 1e-9))))
                player = _Player(entrant, runs, opening_s, seconds, task.check.error(product))
                if task.fits:
                    player.one_run = one_run
                    task.held.push(own.pop_all())
                return player
        except MemoryError as error:
            return f"this machine has too little memory for it ({error})"
        except Exception as error:  # a driver or a library raises what it likes
            return str(error) or type(error).__name__

    def climb(self, entrant: Entrant, size: int) -> str | None:
        """Why a size does not fit the budget; None where it does.

        A time grows with the cube of the size at most, by far less where sizes are small. So a size
        that is much larger than the last one known of is reached in steps, each of them expected
        to fit from the one before.
        """
        if entrant not in self.known:
            self.probe(entrant, min(size, PROBE_SIZE))
        while True:
            known, seconds = self.known[entrant]
            following = min(size, PROBE_STEP * known)
            fits = self.too_long(seconds * (following / known) ** 3) is None
            if not fits or following == size:
                return self.too_long(seconds * (size / known) ** 3)
            self.probe(entrant, following)

    def probe(self, entrant: Entrant, size: int) -> None:
        if self.clock() >= self.deadline:
            self.known[entrant] = size, 0.0
            return
        with entrant.on_operands(*_operands(size, self.seed)) as one_run:
            seconds, _ = one_run()
        self.known[entrant] = size, seconds

    def too_long(self, seconds: float) -> str | None:
        """Why a run of so many seconds is not begun; None where it is."""
        left = self.deadline - self.clock()
        if left <= 0.0:
            return "the budget was spent"
        if seconds > left:
            return (
                f"a run would take up to {seconds:.3g} s, and {left:.3g} s of the budget were left"
            )
        return None

    def take(self, player: _Player, task: _Task) -> None:
        """One turn, as far as the budget goes."""
        if player.one_run is not None:
            self.run(player, player.one_run)
        elif self.too_long(player.opening_s + player.expected_s) is None:
            with player.entrant.on_operands(task.a, task.b) as one_run:
                one_run()
                self.run(player, one_run)

    def run(self, player: _Player, one_run: OneRun) -> None:
        """The runs of a turn."""
        for _ in range(player.runs):
            if self.too_long(player.expected_s) is not None:
                return
            started = self.clock()
            seconds, _ = one_run()
            player.times.append(seconds)
            player.expected_s = self.clock() - started

    def end(self, player: _Player, size: int, rows_checked: int) -> None:
        self.known[player.entrant] = size, player.expected_s
        if player.times:
            score = Score(player.entrant, size, tuple(player.times), player.error, rows_checked)
            self.scores.append(score)
            return
        reason = self.too_long(player.expected_s) or "the budget was spent"
        self.not_run.append(NotRun(player.entrant, size, reason))


def _operands(size: int, seed: int) -> tuple[F32, F32]:
    a, b = random_operands(Shape(size, size, size), Options(texture_format=R32F.name), seed)
    return a, b


class _Check:
    """The product in float64: all of it, or of rows taken at random where the matrices are large.

    rows: the numbers of those rows.
    """

    def __init__(self, a: F32, b: F32) -> None:
        size = len(a)
        generator = np.random.default_rng(size)
        everything = size <= WHOLE_CHECK
        self.rows = (
            np.arange(size) if everything else generator.choice(size, ROWS_CHECKED, replace=False)
        )
        self.product = a[self.rows].astype(np.float64) @ b.astype(np.float64)

    def error(self, product: F32) -> float:
        """The largest |C - C64| over the largest |C64|."""
        with np.errstate(all="ignore"):
            off = float(np.max(np.abs(product[self.rows] - self.product)))
        return off / float(np.max(np.abs(self.product)))
