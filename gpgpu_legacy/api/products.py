"""A product by a method on an executor: run, counted, timed and compared with float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import copysign, isfinite, nan
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.operands import check_operands, product_bytes, product_shape
from gpgpu_legacy.algorithms.registry import DEFAULT_METHOD, find_method
from gpgpu_legacy.api.keywords import ProductKeywords, as_machine, without_machine
from gpgpu_legacy.api.prepared import prepared, run_repeatedly
from gpgpu_legacy.api.seconds import Seconds
from gpgpu_legacy.count.traffic import Counts, count_plan
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32, FP32
from gpgpu_legacy.measure.rounds import as_repeat
from gpgpu_legacy.measure.tuned import choose
from gpgpu_legacy.memory import require_memory
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.prepared import Observer, Timings
from gpgpu_legacy.runtime.registry import AUTO, find_executor, reference
from gpgpu_legacy.serial import Record, as_record


class RunRecord(Record):
    """A run as it is written. shape: m, l, n. max_relative_error: None where it was not computed,
    or is not finite.
    """

    method: str
    shape: tuple[int, int, int]
    block: int | None
    accumulate: Accumulate | None
    texture_format: str | None
    arithmetic: str
    executor: str
    device: str
    max_relative_error: float | None
    seconds: Seconds
    gflops: float | None
    counts: Counts


@dataclass(frozen=True, repr=False)
class Run:
    """A product, with everything that is known about how it was computed.

    method: its name. shape: m, l and n of the m×l by l×n product. options: with the method's
    defaults filled in. executor, device: what it ran on, by name and in words. product: (m, n)
    float32. seconds: of preparing the plan, next to nothing where it was prepared already
    (api/prepared.py), and the medians over all measured runs of upload, compute and readback.
    counts: exact counts of the plan; they do not depend on the executor. plan: what was run.
    operands: A, B and, where it was added, C, float32, not transposed. arithmetic: the name of the
    format that operations were rounded to.
    """

    method: str
    shape: Shape
    options: Options
    executor: str
    device: str
    product: F32
    seconds: Timings
    plan: Plan
    operands: tuple[F32, ...]
    arithmetic: str = FP32.name

    def __repr__(self) -> str:
        shape = self.shape
        rate = f", {self.gflops:.4g} GFLOPS" if self.gflops else ""
        return (
            f"<Run {self.method}: {shape.m}×{shape.l} by {shape.l}×{shape.n} on {self.executor} "
            f"({self.device}), {1e3 * self.seconds.compute_s:.4g} ms{rate}>"
        )

    def _repr_html_(self) -> str:
        """What ran, its times, its counts and its error, as a table for a notebook."""
        from gpgpu_legacy.api.products_table import run_rows
        from gpgpu_legacy.present.html import pairs_html

        return pairs_html(f"A product by {self.method}", run_rows(self))

    @cached_property
    def counts(self) -> Counts:
        """What the plan costs."""
        return count_plan(self.plan)

    @property
    def gflops(self) -> float | None:
        """2·m·l·n floating-point operations over compute time, in 10⁹/s; None if either is 0."""
        return self.shape.gflops(self.seconds.compute_s)

    @property
    def gigabytes_per_s(self) -> float | None:
        """Bytes requested over compute time, in GB/s (10⁹ bytes); None if either is 0."""
        if self.seconds.compute_s <= 0.0 or not self.counts.bytes_requested:
            return None
        return 1e-9 * self.counts.bytes_requested / self.seconds.compute_s

    @cached_property
    def max_relative_error(self) -> float:
        """The largest |C - C64| over the largest |C64|, where C64 is computed in float64.

        NaN if a NaN or an infinity takes part; 0 for an empty product.
        """
        shape = self.shape
        require_memory(
            product_bytes(shape, adds=len(self.operands) > 2, checked=True)
            - sum(array.nbytes for array in (*self.operands, self.product)),
            "the product in float64 to compare with",
            "leave the comparison out (--no-check)",
        )
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

    def record(self, *, check: bool = True) -> RunRecord:
        """The run as it is written. check: whether to compute the error against float64."""
        error = self.max_relative_error if check else nan
        shape = self.shape
        return as_record(
            RunRecord,
            self,
            self.options,
            shape=(shape.m, shape.l, shape.n),
            max_relative_error=error if isfinite(error) else None,
            seconds=as_record(Seconds, self.seconds),
        )


DEFAULT_MACHINE = Machine()


def matmul(
    a: ArrayLike,
    b: ArrayLike,
    method: str = DEFAULT_METHOD,
    options: Options | None = None,
    machine: Machine | None = None,
    *,
    c: ArrayLike | None = None,
    executor: str = AUTO,
    **keywords: Unpack[ProductKeywords],
) -> F32:
    """Multiply two matrices by a method of the time: A·B, or alpha·A·B + beta·C.

    Returns the (m, n) product, float32. `run` takes the same arguments, explains them, and returns
    counts and times too.

    >>> matmul([[1.0, 2.0]], [[3.0], [4.0]], executor="numpy")
    array([[11.]], dtype=float32)
    """
    return run(a, b, method, options, machine, c=c, executor=executor, **keywords).product


def run(
    a: ArrayLike,
    b: ArrayLike,
    method: str = DEFAULT_METHOD,
    options: Options | None = None,
    machine: Machine | None = None,
    *,
    c: ArrayLike | None = None,
    executor: str = AUTO,
    repeat: int = 1,
    observer: Observer | None = None,
    progress: Callable[[], None] | None = None,
    **keywords: Unpack[ProductKeywords],
) -> Run:
    """Multiply two matrices by a method of the time, and return the product with counts and times.

    a, b: (m, l) and (l, n), real numbers, converted to float32. With `transpose_a` or `transpose_b`
    the operand is given transposed.
    method: a name or an alias; `gpgpu-legacy methods` lists them.
    options: what the method leaves to the caller; see Options. Its fields may be given as keywords
    too: block, accumulate, texture_format, transpose_a, transpose_b, as_printed, largest_texture,
    dynamic, alpha, beta, coordinates_first and tile.
    machine: how the run computes. Its fields may be given as keywords: `exact=True` gives the
    reference's bits or refuses; `arithmetic` names the format that every operation is rounded
    to, one of fp32, fp24, fp16, fx12, rc9.
    c: (m, n), added beta times. It is read even if beta is 0, so that a NaN in it shows; BLAS would
    not read it.
    executor: its name. `auto` chooses what `gpgpu-legacy tune` has found fastest on this machine,
    else the fastest executor that can run the plan.
    repeat: how often the plan, prepared once, is run for the medians of its times. If it is more
    than once, another run precedes them and is not measured.
    observer: called after each pass. Observed passes are not fused, so if there are several runs
    the observer gets one of its own, which is not measured.
    progress: called when the plan is prepared and after each run.

    Raises InputError for an argument that does not fit, PlanError where the executor cannot run the
    plan, and ExecutorUnavailableError where the executor cannot run on this machine.
    """
    options = replace(options or Options(), **without_machine(keywords))
    if options.adds and c is None:
        raise InputError("options.adds is True, but there is no c; give the matrix to add")
    product = plan_product(
        find_method(method),
        replace(options, adds=c is not None),
        (a, b) if c is None else (a, b, c),
        executor,
        as_machine(machine, keywords),
        may_tune=observer is None,
    )
    return run_product(product, repeat, observer=observer, progress=progress)


@dataclass(frozen=True, eq=False)
class Product:
    """A product that is ready to run. options: with the method's defaults filled in.

    operands: A, B and, where it is added, C, float32, transposed if the options say so. executor:
    by name. executor, machine and the open options are those that `gpgpu-legacy tune` has found,
    where they were left to it.
    """

    method: Method
    options: Options
    shape: Shape
    plan: Plan
    operands: tuple[F32, ...]
    executor: str
    machine: Machine


def plan_product(
    method: Method,
    options: Options,
    operands: tuple[ArrayLike, ...],
    executor: str = AUTO,
    machine: Machine = DEFAULT_MACHINE,
    *,
    may_tune: bool = True,
) -> Product:
    """Check the options and the operands, and plan their product.

    operands: A, B and, if the options say that it is added, C. may_tune: whether the tuned way may
    replace what is left open. Raises InputError for options that the method does not have, and for
    operands that do not fit.
    """
    options = options.checked()
    if may_tune and machine.tuning is None:
        given = {n: v for n, v in options.given().items() if n in method.parameters}
        tuned = choose(method.algorithm, given, executor, machine)
        found = {name: tuned.given.get(name) for name in ("block", "accumulate")}
        options, executor = replace(options, **found), tuned.executor
        machine = tuned.machine
    if executor == AUTO and machine.arithmetic.rounds:
        executor = reference().name
    options = method.options(options)
    checked = check_operands(operands, options)
    shape = product_shape(checked, options)
    signs = (copysign(1.0, options.alpha), copysign(1.0, options.beta))
    plan = _planned(method, shape, options, signs)
    return Product(method, options, shape, plan, checked, executor, machine)


MOST_PLANNED = 16
"""How many plans of products are kept, so that a repeated call does not build its plan anew."""


@lru_cache(maxsize=MOST_PLANNED)
def _planned(method: Method, shape: Shape, options: Options, signs: tuple[float, float]) -> Plan:
    """The plan of a product. signs: of alpha and beta, for 0 and -0 are equal."""
    return method.plan(shape, options)


def count_steps(repeat: int, *, is_observed: bool) -> int:
    """How often `run_product` reports progress: when the plan is prepared, and after each run."""
    return 1 + repeat + (1 + is_observed) * (repeat > 1)


def run_product(
    product: Product,
    repeat: int = 1,
    *,
    observer: Observer | None = None,
    progress: Callable[[], None] | None = None,
) -> Run:
    """Run a product as `run` does."""
    repeat = as_repeat(repeat)
    plan, options, machine = product.plan, product.options, product.machine
    chosen = find_executor(product.executor, plan, machine)
    given = dict(zip(("A", "B", "C0"), product.operands, strict=False))
    report = progress or (lambda: None)
    with prepared(chosen, plan, machine) as ready:
        report()
        result = run_repeatedly(ready, given, repeat, observer, report)
    a, b, *added = product.operands
    return Run(
        method=product.method.name,
        shape=product.shape,
        options=options,
        executor=chosen.name,
        device=chosen.device(),
        product=result.outputs["C"],
        seconds=result.timings,
        plan=plan,
        operands=(
            a.T if options.transpose_a else a,
            b.T if options.transpose_b else b,
            *added,
        ),
        arithmetic=machine.arithmetic.name,
    )
