"""The cost of a condition: Jacobi's steps in a loop that ends by one, beside a fixed count.

    python benchmarks/until.py [--size 1024] [--passes 200] [--executor jit gl-compute]

The same steps run in turn: with a fixed count, in a loop whose condition is asked every 50
iterations, and in one that computes the largest value by a reduction before it asks. Times are
medians of the rounds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import AbstractContextManager
from statistics import median
from typing import Any

from gpgpu_legacy import Pipeline
from gpgpu_legacy.algorithms.reduction.reduction import reduce, reduced_size
from gpgpu_legacy.languages.shaders import load_program
from gpgpu_legacy.pipeline.values import Texels
from gpgpu_legacy.plan.textures import Texture
from gpgpu_legacy.runtime.executor import find_executor

EVERY = 50
Loop = Callable[[Pipeline, Texture, int], AbstractContextManager[Any]]


def relaxation(n: int, passes: int, loop: Loop, *, reduces: bool = False) -> Pipeline:
    """Jacobi steps in a loop. reduces: EVERY steps in each iteration, and then a reduction."""
    p = Pipeline("until")
    b = p.input("b", n, n)
    x, y = (p.texture(name, n + 2, n + 2, initial=0.0) for name in "xy")
    one = p.texture("one", 1, 1, initial=1.0)
    size = reduced_size(n)
    s, t = (p.texture(name, size, size, initial=0.0) for name in "st")
    around = {1: Texels(-1, 0), 2: Texels(1, 0), 3: Texels(0, -1), 4: Texels(0, 1)}

    def step() -> None:
        p.draw(
            load_program("jacobi/jacobi.fp"),
            {0: x, 1: b},
            into=y,
            rect=(1, 1, n, n),
            texcoords={0: Texels(x=0, y=0), **around},
        )
        p.swap(x, y)

    with loop(p, one, passes):
        if not reduces:
            step()
        else:
            with p.repeat(EVERY):
                step()
            p.copy(x, s, source_rect=(1, 1, n, n), target_rect=(0, 0, n, n))
            reduce(p, s, t, "MAX")
            p.copy(s, one, source_rect=(0, 0, 1, 1))
    p.output("x", x, rect=(1, 1, n, n))
    return p


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--passes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--executor", nargs="*", default=["jit", "gl-compute"])
    given = parser.parse_args()
    never = -1e30

    def until(p: Pipeline, one: Texture, passes: int) -> AbstractContextManager[Any]:
        return p.repeat(until=one, below=never, at_most=passes, every=EVERY)

    def nested(p: Pipeline, one: Texture, passes: int) -> AbstractContextManager[Any]:
        return p.repeat(until=one, below=never, at_most=passes // EVERY)

    ways = {
        "a fixed count": relaxation(given.size, given.passes, lambda p, _, k: p.repeat(k)),
        f"asked every {EVERY}": relaxation(given.size, given.passes, until),
        "with a reduction": relaxation(given.size, given.passes, nested, reduces=True),
    }
    for name in given.executor:
        executor = find_executor(name)
        operands = ways["a fixed count"].inputs()
        ready = {way: executor.prepare(p.plan()) for way, p in ways.items()}
        times: dict[str, list[float]] = {way: [] for way in ready}
        for _ in range(given.rounds + 1):
            for way, prepared in ready.items():
                times[way].append(prepared.run(operands).timings.compute_s)
        medians = {way: median(taken[1:]) for way, taken in times.items()}
        for way, seconds in medians.items():
            ratio = seconds / medians["a fixed count"]
            print(f"{name:12} {way:18} {1e3 * seconds:8.3f} ms  {ratio:6.3f}")


if __name__ == "__main__":
    main()
