"""Random programs on the numpy machine and on all executors that promise its bits.

`make differential` tries them by thousands. A difference fails with the text of its program alone,
unless one of four reasons explains it: opcodes that the specification leaves approximate, within
their bounds; zeros of another sign, which GLSL leaves open; denormals that a device flushes; and,
beside such opcodes, with which no run is exact, NaNs that a compiler folds to numbers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor as Pool
from contextlib import AbstractContextManager
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from attacks import ATTACK
from departures import driver_of
from drawing import F32, draw_all, on
from flushing import Touched, touched_by_denormals, touched_by_folding
from random_programs import INEXACT, MOST_JOINED, SIZE, Batch, Part, random_batch

from gpgpu_legacy.isa import program as programs
from gpgpu_legacy.isa.opcodes import OPCODES
from gpgpu_legacy.plan.framebuffer import ADD
from gpgpu_legacy.plan.textures import RGBA32F
from gpgpu_legacy.runtime.executor import Executor, find_executor
from gpgpu_legacy.studies.shared.sweep import sweep, workers

NUMPY = find_executor("numpy")
PROGRAMS = int(os.environ.get("PROGRAMS", ATTACK.count(24, 960)))


def drawn(batch: Batch, executor: Executor = NUMPY) -> list[F32]:
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


def unexplained(batch: Batch, executor: Executor, found: list[F32]) -> list[str]:
    """What an executor found otherwise, where nothing explains it."""
    said = []
    for part, expected in zip(batch.parts, drawn(batch), strict=True):
        mine = found[part.number]
        bits = mine.view(np.uint32) == expected.view(np.uint32)
        wrong = ~(bits | (np.isnan(mine) & np.isnan(expected)))
        if wrong.any() and part.inexact:
            wrong &= ~near(mine, expected, part, batch)
        if executor.name.startswith("gl-"):
            wrong &= (mine != 0) | (expected != 0)
        if wrong.any() and executor.flushed_paths():
            wrong &= ~touched(part, batch, touched_by_denormals)
        if wrong.any() and batch.is_approximate and driver_of(executor).folds_products:
            wrong &= ~touched(part, batch, touched_by_folding)
        if wrong.any():
            y, x, _ = np.argwhere(wrong)[0]
            numbers = f"{mine[y, x]}, not {expected[y, x]}"
            said.append(f"{executor.name}, fragment ({x}, {y}): {numbers}\n{batch.of(part).text}")
    return said


def near(found: F32, expected: F32, part: Part, batch: Batch) -> np.ndarray:
    """Which components are within the bounds of the program's last opcode, and a sum's rounding."""
    relative, absolute = INEXACT[part.inexact]
    if batch.given["blend"] == ADD:
        relative, absolute = relative + 2.0**-22, absolute + 4 * relative  # what is there is small
    with np.errstate(all="ignore"):
        return np.isclose(found, expected, relative, absolute, equal_nan=True)


def touched(
    part: Part, batch: Batch, by: Callable[..., AbstractContextManager[Touched]]
) -> np.ndarray:
    """The fragments in which the program, or what discards for it, computes what touches them."""
    others = [p for p in batch.parts if p is not part and p.discards]
    images = batch.given["textures"].values()
    in_quads = batch.program.derives or any(image.sampler.has_lod for image in images)
    with by(in_quads=in_quads) as seen:
        drawn(batch.of(*others, part))
    return seen.of(*SIZE)[..., None]


def differences(item: tuple[str, str]) -> list[str]:
    """What an executor, by its name, computes otherwise in the batch of a seed."""
    executor = find_executor(item[0])
    batch = random_batch(item[1], branches=item[1].startswith("branching"))
    return unexplained(batch, executor, drawn(batch, executor))


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool | None]:
    """This thread for a share of programs; for a number of them, processes or a cluster."""
    if "PROGRAMS" not in os.environ:
        yield None
        return
    with workers(os.environ.get("DASK", "")) as pool:
        yield pool


@pytest.mark.parametrize("kind", ["hostile", "branching"])
@on("jit", "gl-raster", "gl-compute")
def test_every_executor_computes_what_numpy_does(
    ready: Callable[[str], Executor], name: str, kind: str, pool: Pool | None
) -> None:
    if name.startswith("gl-") and not driver_of(ready(name)).keeps_order:
        pytest.skip("the driver does not keep the order of operations")
    batches = range(-(-PROGRAMS // MOST_JOINED))
    items = [(name, f"{kind} {ATTACK.seed}-{number}") for number in batches]
    said = [line for found in sweep(differences, items, pool) for line in found]
    assert not said, "\n".join(said)


def test_a_wrong_opcode_is_found_and_shown() -> None:
    said = []
    for number in range(8):
        batch = random_batch(f"wrong {number}")
        wrong = {**OPCODES, "FLR": replace(OPCODES["FLR"], evaluate=np.ceil)}
        with patch.object(programs, "OPCODES", wrong):
            found = drawn(batch)
        said += unexplained(batch, find_executor("jit"), found)
    assert said
    assert all("FLR" in each for each in said)
