"""Random programs on the numpy machine and on all executors that promise its bits, by thousands.

    python tests/campaign.py --programs 100000 --seed 7

prints how far it is, every difference, and at the end one line with the verdict. Only a difference
with an explanation is allowed, and each has a name (Why). Batch n of a seed is always the same, so
`--first n` goes on after n batches, and `--first n --programs 8` repeats batch n alone.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from enum import Enum
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
from drawing import F32, draw_all
from flushing import touched_by_denormals
from numpy.typing import NDArray
from random_programs import INEXACT, MOST_JOINED, SIZE, Batch, Part, random_batch

from gpgpu_legacy.errors import GpgpuLegacyError
from gpgpu_legacy.plan.formats import RGBA32F
from gpgpu_legacy.plan.plan import Blend
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.registry import find_executor, reference

EXECUTORS = ("jit", "gl-raster", "gl-compute")


class Why(Enum):
    """Why an executor may give other bits than the numpy machine; the value says it in words."""

    DENORMALS = "denormals take part, and the device flushes them"
    INEXACT = "opcodes that the specification leaves approximate, within their bounds"
    ZERO = "zeros of another sign, which GLSL leaves open"


@dataclass(frozen=True)
class Difference:
    """A program that an executor computes otherwise, and nothing explains it.

    text: of the program alone. found, expected: in one fragment.
    """

    executor: str
    seed: str
    text: str
    where: tuple[int, int]
    found: tuple[float, ...]
    expected: tuple[float, ...]
    note: str = ""

    def __str__(self) -> str:
        numbers = f"{self.found}, not {self.expected}" if self.found else self.note
        return f"{self.executor}, batch {self.seed}, fragment {self.where}: {numbers}\n{self.text}"


@dataclass(frozen=True)
class Checked:
    """What came of a batch. explained: programs that differ, by executor and reason."""

    programs: int
    explained: Counter[tuple[str, Why]]
    differences: tuple[Difference, ...]


def checked(batch: Batch, names: Sequence[str] = EXECUTORS) -> Checked:
    """Run a batch everywhere, and compare."""
    explained: Counter[tuple[str, Why]] = Counter()
    differences = []
    expected = _Expected(batch)
    for name in names:
        try:
            found = drawn(batch, find_executor(name))
        except GpgpuLegacyError as error:
            differences.append(Difference(name, batch.seed, batch.text, (0, 0), (), (), str(error)))
            continue
        for part in batch.parts:
            why = expected.why(part, found[part.number], find_executor(name))
            if isinstance(why, Why):
                explained[name, why] += 1
            elif why is not None:
                y, x, _ = np.argwhere(why)[0]
                both = (texels[part.number][y, x] for texels in (found, expected.texels))
                values = (tuple(each.tolist()) for each in both)
                text, where = batch.of(part).text, (int(x), int(y))
                differences.append(Difference(name, batch.seed, text, where, *values))
    return Checked(len(batch.parts), explained, tuple(differences))


def drawn(batch: Batch, executor: Executor) -> list[F32]:
    """The texels of each target: (rows, width, 4)."""
    formats = (RGBA32F,) * batch.targets
    return draw_all(
        batch.program,
        SIZE,
        targets=formats,
        machine=batch.machine,
        executor=executor,
        **batch.given,
    )


class _Expected:
    """What a batch gives on the numpy machine, and where denormals take part."""

    def __init__(self, batch: Batch) -> None:
        self._batch, self.texels = batch, drawn(batch, reference())

    def why(self, part: Part, found: F32, executor: Executor) -> Why | NDArray[np.bool_] | None:
        """Why a program's texels differ: None where they do not, a mask where nothing explains."""
        expected = self.texels[part.number]
        wrong = ~_same(found, expected)
        if not wrong.any():
            return None
        why = Why.INEXACT
        if wrong.any() and part.inexact:
            wrong &= ~_near(found, expected, part, self._batch)
        if wrong.any() and executor.name.startswith("gl-"):
            why, wrong = Why.ZERO, wrong & ~((found == 0) & (expected == 0))
        if wrong.any() and executor.flushed_paths():
            why, wrong = Why.DENORMALS, wrong & ~self._touched(part)[..., None]
        return wrong if wrong.any() else why

    def _touched(self, part: Part) -> NDArray[np.bool_]:
        """The fragments in which the program, or what discards for it, computes with denormals."""
        others = [p for p in self._batch.parts if p is not part and p.discards]
        with touched_by_denormals() as touched:
            drawn(self._batch.of(*others, part), reference())
        width, height = SIZE
        mask: NDArray[np.bool_] = np.broadcast_to(touched.mask, (height, width))
        return mask


def _same(found: F32, expected: F32) -> NDArray[np.bool_]:
    bits = found.view(np.uint32) == expected.view(np.uint32)
    return bits | (np.isnan(found) & np.isnan(expected))


def _near(found: F32, expected: F32, part: Part, batch: Batch) -> NDArray[np.bool_]:
    """Which components are within the bounds of the program's last opcode, and a sum's rounding."""
    relative, absolute = INEXACT[part.inexact]
    if batch.given["blend"] is Blend.ADD:
        relative, absolute = relative + 2.0**-22, absolute + 4 * relative  # what is there is small
    with np.errstate(all="ignore"):
        near: NDArray[np.bool_] = np.isclose(found, expected, relative, absolute, equal_nan=True)
    return near


# The command ----------------------------------------------------------------------------------


@dataclass
class Tally:
    """What came of all batches so far."""

    programs: int = 0
    batches: int = 0
    unexplained: int = 0

    def __post_init__(self) -> None:
        self.explained: Counter[tuple[str, Why]] = Counter()
        self.started = perf_counter()

    def add(self, checked: Checked) -> None:
        self.programs += checked.programs
        self.batches += 1
        self.unexplained += len(checked.differences)
        self.explained += checked.explained

    def line(self, wanted: int) -> str:
        rate = self.programs / (perf_counter() - self.started)
        left = (wanted - self.programs) / rate if rate else 0.0
        return (
            f"{self.programs} of {wanted} programs, {rate:.1f}/s, {left / 60:.0f} min left; "
            f"{self.unexplained} unexplained"
        )


def check_numbered(seed: str, batch: int) -> tuple[int, Checked]:
    """Batch n of a seed; what a worker does."""
    return batch, checked(random_batch(f"{seed}-{batch}"))


def campaign(
    seed: str, programs: int, first: int, workers: int, tell: Callable[[str], object]
) -> Tally:
    """Check so many programs from batch `first` on."""
    tally, said = Tally(), perf_counter()
    for _, result in _results(seed, range(first, first + -(-programs // MOST_JOINED)), workers):
        tally.add(result)
        for difference in result.differences:
            tell(f"UNEXPLAINED: {difference}")
        if perf_counter() - said > 15:
            said = perf_counter()
            tell(tally.line(programs))
    return tally


def _results(seed: str, batches: range, workers: int) -> Iterator[tuple[int, Checked]]:
    """The batches' results as they come; BrokenProcessPool names those that were under way."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, spawn, max_tasks_per_child=400) as pool:
        waiting: dict[Future[tuple[int, Checked]], int] = {}
        left = iter(batches)
        while True:
            while len(waiting) < 2 * workers and (batch := next(left, None)) is not None:
                waiting[pool.submit(check_numbered, seed, batch)] = batch
            if not waiting:
                return
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                try:
                    yield future.result()
                except BrokenProcessPool:
                    under_way = ", ".join(f"{seed}-{n}" for n in sorted(waiting.values()))
                    raise SystemExit(f"a process died in one of the batches {under_way}") from None
                del waiting[future]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--programs", type=int, default=int(os.environ.get("PROGRAMS", "100000")))
    parser.add_argument("--seed", default=os.environ.get("HOSTILE_SEED", "0"))
    parser.add_argument("--first", type=int, default=0, metavar="BATCH")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    given = parser.parse_args()
    os.environ["MESA_SHADER_CACHE_DISABLE"] = "true"  # nothing comes twice
    with TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        tally = campaign(given.seed, given.programs, given.first, given.workers, _say)
    for (name, why), count in sorted(tally.explained.items(), key=lambda item: str(item[0])):
        _say(f"{count} programs on {name}: {why.value}")
    verdict = "no difference is unexplained" if not tally.unexplained else "NOT ALL IS EXPLAINED"
    minutes = (perf_counter() - tally.started) / 60
    _say(
        f"{verdict}: {tally.programs} random programs, seed {given.seed}, batches {given.first} to "
        f"{given.first + tally.batches - 1}, numpy against {', '.join(EXECUTORS)}, "
        f"{tally.unexplained} unexplained, {minutes:.1f} min"
    )
    return int(bool(tally.unexplained))


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
