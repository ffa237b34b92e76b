"""One product by one method on one executor: run, counted, timed and checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import inf
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.operands import F32, check_operands, product_shape
from gpgpu_legacy.algorithms.registry import DEFAULT_METHOD, find_method
from gpgpu_legacy.count.traffic import Counts, count_plan
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import FP32, find_arithmetic
from gpgpu_legacy.measure.tuned import Choice, choose
from gpgpu_legacy.plan.formats import LARGEST_TEXTURE
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.executor import Machine, Observer, Prepared, Result, Timings
from gpgpu_legacy.runtime.registry import find_executor, reference


@dataclass(frozen=True)
class Run:
    """What a run gave.

    product: the m×n matrix, float32. counts: of the plan, exact, whatever the executor.
    seconds: of preparing the plan, once, and medians over the repeats of the rest. device: what it
    ran on, in words. options: all of them, with the method's defaults filled in.
    """

    method: str
    shape: Shape
    options: Options
    executor: str
    device: str
    product: F32
    seconds: Timings
    counts: Counts
    plan: Plan = field(repr=False)
    operands: tuple[F32, ...] = field(repr=False)
    arithmetic: str = FP32.name

    @property
    def gflops(self) -> float | None:
        """2·m·l·n floating-point operations over the compute time; None where that is zero."""
        if self.seconds.compute_s <= 0.0 or not self.shape.multiply_adds:
            return None
        return 2e-9 * self.shape.multiply_adds / self.seconds.compute_s

    @property
    def gigabytes_per_s(self) -> float | None:
        """Bytes requested (GB, 10⁹) over the compute time: the bandwidth the run achieved."""
        if self.seconds.compute_s <= 0.0 or not self.counts.bytes_requested:
            return None
        return 1e-9 * self.counts.bytes_requested / self.seconds.compute_s

    @cached_property
    def max_relative_error(self) -> float:
        """The largest |C - C64| over the largest |C64|, C64 being the result in float64.

        NaN where a NaN or an infinity took part; 0 for an empty product.
        """
        a, b, *added = (operand.astype(np.float64) for operand in self.operands)
        if self.product.size == 0:
            return 0.0
        with np.errstate(all="ignore"):
            reference = self.options.alpha * (a @ b)
            if added:
                reference += self.options.beta * added[0]
            error = float(np.max(np.abs(self.product - reference)))
            scale = float(np.max(np.abs(reference)))
            return error / scale if scale else error

    def as_json(self, *, check: bool = True) -> dict[str, Any]:
        """The run for other programs to read; NaN is None. See the README for the keys."""
        seconds = self.seconds
        error = self.max_relative_error if check else float("nan")
        counts = self.counts
        return {
            "method": self.method,
            "shape": [self.shape.m, self.shape.l, self.shape.n],
            "block": self.options.block,
            "accumulate": self.options.accumulate.value if self.options.accumulate else None,
            "texture_format": self.options.texture_format,
            "arithmetic": self.arithmetic,
            "executor": self.executor,
            "device": self.device,
            "max_relative_error": error if np.isfinite(error) else None,
            "seconds": {
                "prepare": seconds.prepare_s,
                "compute": seconds.compute_s,
                "upload": seconds.upload_s,
                "readback": seconds.readback_s,
            },
            "gflops": self.gflops,
            "counts": {name: getattr(counts, name) for name in Counts.__dataclass_fields__},
        }


@dataclass(frozen=True, slots=True)
class Sampling:
    """How often a prepared plan is run for the medians of its times.

    runs: measured ones. Where they are several, one more run goes before them and is not measured;
    if its passes take `longest_s` seconds or more, it stands for itself and there is no other.
    """

    runs: int = 1
    longest_s: float = inf

    @property
    def total(self) -> int:
        """How many runs there are at most, but for one that is observed."""
        return self.runs + (self.runs > 1)


ONE_RUN = Sampling()


def matmul(
    a: ArrayLike,
    b: ArrayLike,
    method: str = DEFAULT_METHOD,
    *,
    c: ArrayLike | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    executor: str = "auto",
    arithmetic: str = FP32.name,
    **choices: Any,
) -> F32:
    """The product of two matrices by a method of the time; with the others, α·AB + β·C.

    a, b: (m, l) and (l, n), real; computed on as float32. With `transpose_a` or `transpose_b` the
    operand is given transposed, and the product is of its transpose.
    c: (m, n). It is read even where beta is 0, so that a NaN in it shows; BLAS would not read it.
    arithmetic: what every operation is rounded to: fp32, or fp24, fp16, fx12, rc9, which the
    `auto` executor leaves to the reference.
    choices: `block`, `accumulate`, `texture_format`, `transpose_a`, `transpose_b`, `as_printed`,
    `largest_texture`, `dynamic`, `coordinates_first`; see Options.
    Returns (m, n) float32. Raises InputError for what does not fit.
    """
    return run(
        a,
        b,
        method,
        c=c,
        alpha=alpha,
        beta=beta,
        executor=executor,
        arithmetic=arithmetic,
        **choices,
    ).product


def run(
    a: ArrayLike,
    b: ArrayLike,
    method: str = DEFAULT_METHOD,
    *,
    c: ArrayLike | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    block: int | None = None,
    accumulate: Accumulate | str | None = None,
    texture_format: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    as_printed: bool = False,
    largest_texture: int = LARGEST_TEXTURE,
    dynamic: bool = False,
    coordinates_first: int | None = None,
    executor: str = "auto",
    repeat: int = 1,
    exact: bool = False,
    arithmetic: str = FP32.name,
    observer: Observer | None = None,
    progress: Callable[[], None] | None = None,
) -> Run:
    """Run a product and keep everything that is known of it.

    a, b, c, arithmetic, and the options up to `coordinates_first`: as for matmul.
    repeat: how often the plan, prepared once, is run for the medians of its times (after one
    unmeasured run where it is more than once). exact: no multiply-add is contracted. observer:
    called after each pass; passes that are observed are not fused, so where there are several runs
    it gets one of its own, which is not measured. progress: called when the plan is prepared and
    after each run.
    """
    options = Options(
        block=block,
        accumulate=None if accumulate is None else _accumulate(accumulate),
        texture_format=texture_format,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        as_printed=as_printed,
        largest_texture=largest_texture,
        dynamic=dynamic,
        coordinates_first=coordinates_first,
        alpha=alpha,
        beta=beta,
        adds=c is not None,
    )
    operands = (a, b) if c is None else (a, b, c)
    return run_method(
        method,
        options,
        operands,
        executor,
        Sampling(repeat),
        exact=exact,
        arithmetic=arithmetic,
        observer=observer,
        progress=progress,
    )


def run_method(
    name: str,
    options: Options,
    operands: tuple[ArrayLike, ...],
    executor: str = "auto",
    sampling: Sampling = ONE_RUN,
    *,
    exact: bool = False,
    arithmetic: str = FP32.name,
    observer: Observer | None = None,
    progress: Callable[[], None] | None = None,
) -> Run:
    """The same as `run`, for a caller who has the options in one piece.

    executor: `auto` is the tuned one where `gpgpu-legacy tune` has found one for this machine, with
    its block and accumulation where the options leave them open (measure/tuned.py). A run that is
    observed has the plan that its options say.
    operands: A, B and, where the options say that it is added, C.
    """
    if sampling.runs < 1:
        raise InputError(f"--repeat is {sampling.runs}; it must be at least 1")
    method = find_method(name)
    tuned = Choice(options, executor)
    if observer is None:
        tuned = choose(method, options, executor, exact=exact, arithmetic=arithmetic)
    chosen = method.options(tuned.options)
    a, b, *added = checked = check_operands(operands, chosen)
    rows = a.T if chosen.transpose_a else a
    columns = b.T if chosen.transpose_b else b
    shape = product_shape(checked, chosen)
    plan = method.plan(shape, chosen)
    numbers = find_arithmetic(arithmetic)
    by_default = executor == "auto" and numbers.rounds
    machine = reference() if by_default else find_executor(tuned.executor, plan)
    given = dict(zip(("A", "B", "C0"), checked, strict=False))
    tell = progress or (lambda: None)
    with machine.prepare(plan, Machine(exact, numbers, tuned.tuning)) as prepared:
        tell()
        result, seconds = _sample(prepared, given, sampling, observer, tell)
    return Run(
        method=method.name,
        shape=shape,
        options=chosen,
        executor=machine.name,
        device=machine.device(),
        product=result.outputs["C"],
        seconds=seconds,
        counts=count_plan(plan),
        plan=plan,
        operands=(rows, columns, *added),
        arithmetic=numbers.name,
    )


def _sample(
    prepared: Prepared,
    operands: dict[str, F32],
    sampling: Sampling,
    observer: Observer | None,
    progress: Callable[[], None],
) -> tuple[Result, Timings]:
    """The last result of a prepared plan, and the medians of its times."""
    several = sampling.runs > 1
    result = prepared.run(operands, None if several else observer)
    progress()
    timings = [result.timings]
    if several and result.timings.compute_s < sampling.longest_s:
        timings.clear()
        for _ in range(sampling.runs):
            result = prepared.run(operands)
            timings.append(result.timings)
            progress()
    if several and observer is not None:
        result = prepared.run(operands, observer)
        progress()
    return result, medians(timings)


def medians(timings: Sequence[Timings]) -> Timings:
    """Of several runs' times, the median of each."""
    return Timings(*(median(getattr(t, each.name) for t in timings) for each in fields(Timings)))


def _accumulate(value: Accumulate | str) -> Accumulate:
    try:
        return Accumulate(value)
    except ValueError:
        known = ", ".join(mode.value for mode in Accumulate)
        raise InputError(f"there is no way to accumulate {value!r}; choose from {known}") from None
