"""The executors that run here, their abilities, and the one that `auto` takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from gpgpu_legacy.algorithms.registry import find_algorithm
from gpgpu_legacy.code_cache import why_nothing_is_kept
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.plan.plan import ComputePass
from gpgpu_legacy.predict.auto import executor_for
from gpgpu_legacy.present.grid import Grid, Result
from gpgpu_legacy.runtime.exactness import INSTRUCTIONS, DataPath, flushed_by, in_words
from gpgpu_legacy.runtime.executor import AUTO, Executor, survey
from gpgpu_legacy.runtime.machine import names_of
from gpgpu_legacy.serial import Record, as_record

# Promises ----------------------------------------------------------------------------------------


PROMISES = Grid(
    "promises",
    "What is exact, and what is a bound.",
    ("verb", "exact", "a bound, or an estimate", "of which programs and plans"),
    (
        (
            "run",
            "with --exact: the bits of numpy, or the executor refuses",
            "without it jit may round a multiply-add once, and a driver rounds in its own way",
            "every plan on numpy and jit; on drivers what they run alike, as doctor measures",
        ),
        (
            "count",
            "instructions, lookups and bytes of the plan as it is written",
            "the most where work may end early: by KIL, the alpha test, or a loop until a texel",
            "every plan that draws; kernels whose control flow no loaded data decide",
        ),
        (
            "cache",
            "hits, misses and bytes in the order of accesses that is stated",
            "a chip's own order, layout and cache are parameters; KIL and loops as in count",
            "drawing, where lookups depend on data those of a run; kernels whose addresses no data "
            "decide",
        ),
        (
            "predict",
            "the counts below it",
            "the least time by data sheets; of a calibrated machine an estimate",
            "what count takes; an unknown rate adds nothing",
        ),
        (
            "fit",
            "the largest block that the known limits admit, by checking real plans",
            "as far as is known, where only the fewest native instructions fit",
            "products with a block",
        ),
        (
            "translate",
            "operations and their order; with --exact-sampling in GLSL also lookups, and no "
            "contracted multiply-add",
            "a driver's quotients, roots and transcendentals; GLSL ES may contract",
            "programs that the target can express",
        ),
        (
            "page",
            "the bits of numpy on the machine in the page",
            "on the reader's GPU what its driver rounds",
            "plans that draw",
        ),
    ),
)


# Diagnosis ---------------------------------------------------------------------------------------


_AUTO_CASES = {
    "hall-carr-hart-multi": (64, 512, 2048),
    "jacobi": (64, 2048),
    "opengl-compute-tiled": (64, 1024),
}
"""The algorithms and sizes for which the choice of `auto` is shown."""


class ExecutorRecord(Record):
    """An executor: whether it runs here, on which device or why not, and its abilities.

    exact: whether it takes exact runs of drawing plans; as measured, if it runs here. inexact: the
    opcodes, fog options and blends that exact runs refuse, since the driver was measured to compute
    them in its own way. denormals: as measured on the device: `kept`, `flushed`, or the operations
    that flush them; None if the executor does not run here, or refuses the measurement.
    """

    name: str
    summary: str
    works: bool
    detail: str
    passes: tuple[str, ...]
    arithmetics: tuple[str, ...]
    exact: bool
    inexact: tuple[str, ...]
    denormals: str | None
    fuses_passes: bool
    tuning: tuple[str, ...]


class Diagnosis(Result):
    """Every executor, and those that `auto` takes.

    auto: the executor that `auto` takes, by algorithm and size, such as `jacobi n=64`. not_kept:
    why generated code is not kept for later runs; empty if it is.
    """

    auto: dict[str, str]
    executors: tuple[ExecutorRecord, ...]
    not_kept: str = ""

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The executors, and which of them `auto` takes.

        whole: also what each verb promises.
        """
        rows = tuple(
            (e.name, "yes" if e.works else "no", e.summary, _abilities(e), e.denormals, e.detail)
            for e in self.executors
        )
        heads = (
            "executor", "works", "what it is", "what it can do", "denormals", "device, or why not",
        )  # fmt: skip
        taken: dict[str, list[str]] = {}
        for case, executor in self.auto.items():
            taken.setdefault(executor, []).append(case)
        choices = "; ".join(f"{name} for {', '.join(cases)}" for name, cases in taken.items())
        auto = (
            "--executor auto takes what `tune` has found here; without that, what is expected to "
            f"be done first, starting and compiling included: now {choices}."
        )
        kept = f"Every command generates code again: {self.not_kept}."
        notes = (auto, *_refusals(self.executors), *((kept,) if self.not_kept else ()))
        here = Grid("executors", "The executors on this machine.", heads, rows, notes)
        return [here, *([PROMISES] if whole else [])]


def diagnose() -> Diagnosis:
    """Try every executor. Creates OpenGL contexts where a driver is installed."""
    return Diagnosis(
        auto={
            f"{name} n={n}": executor_for(AUTO, find_algorithm(name).plan(n=n)).name
            for name, sizes in _AUTO_CASES.items()
            for n in sizes
        },
        executors=executor_records(),
        not_kept=why_nothing_is_kept(),
    )


def executor_records() -> tuple[ExecutorRecord, ...]:
    """Every executor of the package, the reference first."""
    return tuple(_record(*row) for row in survey())


def _refusals(executors: Sequence[ExecutorRecord]) -> Iterator[str]:
    """The operations that exact runs refuse, a line for all executors that refuse the same."""
    names: dict[tuple[str, ...], list[str]] = {}
    for executor in executors:
        if executor.inexact:
            names.setdefault(executor.inexact, []).append(executor.name)
    for inexact, refusing in names.items():
        yield (
            f"With --exact, programs with {', '.join(inexact)} are refused on "
            f"{' and '.join(refusing)}, since the driver computes these in its own way."
        )


def _abilities(executor: ExecutorRecord) -> str:
    """The abilities of an executor beyond drawing in float32, in words."""
    words = {
        "kernels": names_of(frozenset({ComputePass})) in executor.passes,
        "fused passes": executor.fuses_passes,
        "--exact": executor.exact,
        "--arithmetic": len(executor.arithmetics) > 1,
    }
    return ", ".join(word for word, holds in words.items() if holds)


def _record(executor: Executor, works: bool, detail: str) -> ExecutorRecord:
    capabilities = executor.capabilities
    flushed: frozenset[DataPath] | None = None
    inexact: tuple[str, ...] = ()
    if works:
        with suppress(PlanError):  # the driver refuses the plan that measures it
            flushed = flushed_by(executor.run)
    if works and capabilities.exact:
        with suppress(PlanError):
            inexact = tuple(sorted(executor.inexact_among(INSTRUCTIONS)))
    return as_record(
        ExecutorRecord,
        executor,
        capabilities,
        works=works,
        detail=detail,
        passes=tuple(sorted(names_of(frozenset({kind})) for kind in capabilities.passes)),
        arithmetics=tuple(sorted(capabilities.arithmetics)),
        exact=capabilities.exact and (not flushed if flushed is not None else not works),
        inexact=inexact,
        denormals=None if flushed is None else in_words(flushed),
        tuning=tuple(sorted(capabilities.tuning)),
    )
