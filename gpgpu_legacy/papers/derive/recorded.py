"""Claims that recorded times decide."""

from __future__ import annotations

import numpy as np

from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.papers.derive.inputs import Inputs
from gpgpu_legacy.papers.derive.quantities import QUANTITIES
from gpgpu_legacy.papers.derive.registry import Value, derivation
from gpgpu_legacy.papers.recorded import recorded_times
from gpgpu_legacy.predict.mispredictions import read_log


@derivation
def recorded_over(
    inputs: Inputs, *, chip: str, method: str, size: int, block: int, accumulate: str
) -> Value:
    """A recorded time with one way to accumulate, over that with copies of the framebuffer."""
    wanted = (chip, method, size, block)
    times = {
        case.accumulate or Accumulate.COPY: case.seconds
        for case in read_log().case
        if (case.chip, case.method, case.size, case.block) == wanted
    }
    return times[Accumulate(accumulate)] / times[Accumulate.COPY]


@derivation
def off_a_straight_line(inputs: Inputs, method: str, power: float = 1) -> Value:
    """How far recorded times of a pass are off a straight line, in percent, at most.

    The line is in the number of the program's instructions, to a power, and fits all blocks best in
    proportion to their times.
    """
    runs = [run for run in recorded_times().run if run.method == method]
    products = [inputs.product(method, run.size, run.block) for run in runs]
    lengths = np.array([QUANTITIES["program_length"](product) for product in products], float)
    seconds = np.array(
        [run.seconds / product.counts.passes for run, product in zip(runs, products, strict=True)]
    )
    terms = np.stack([np.ones_like(lengths), lengths**power], axis=1) / seconds[:, None]
    line = np.linalg.lstsq(terms, np.ones_like(seconds))[0]
    return 100.0 * float(np.max(np.abs(terms @ line - 1.0)))


@derivation
def recorded_upload_over_readback(inputs: Inputs, path: str) -> Value:
    """The recorded rate of uploads over that of read-back, by a path."""
    move = next(move for move in recorded_times().move if move.path == path)
    counts = inputs.product(move.method, move.size).counts
    return counts.upload_bytes / move.upload_s / (counts.readback_bytes / move.readback_s)
