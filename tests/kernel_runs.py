"""Random Cg kernels run by an executor, and compared with the evaluator of their syntax trees."""

from __future__ import annotations

from random import Random

import numpy as np
from cg_reference import F32, run
from drawing import draw_all, fragment_texcoords
from random_kernels import Writer

from gpgpu_legacy.isa.ir import Vec4
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.languages.arb.printer import disassemble
from gpgpu_legacy.languages.c.parser import parse
from gpgpu_legacy.languages.cg.compiler import compile_unit
from gpgpu_legacy.languages.shading.faults import Fault
from gpgpu_legacy.runtime.executor import Executor

WIDTH, HEIGHT = 6, 5
COUNT = WIDTH * HEIGHT
UNTOUCHED = 77.0
ODD = np.array([0.0, -0.0, 1, -1, 0.5, 2, -2.5, 3.25, 1e-3, 7, -4, 0.1], np.float32)


def numbers(rng: np.random.Generator, *shape: int) -> F32:
    """Odd numbers and eighths."""
    eighths = rng.integers(-32, 32, shape) / 8
    return np.where(rng.random(shape) < 0.5, rng.choice(ODD, shape), eighths).astype(np.float32)


def vec4(values: F32) -> Vec4:
    x, y, z, w = np.resize(values, 4).tolist()
    return (x, y, z, w)


def differing(seed: int, executor: Executor, *, branching: bool = False) -> str:
    """The kernel of a seed if the executor departs from the evaluator, with where.

    branching: of kernels whose loops depend on data.
    """
    whole = seed % 3 == 0
    text = Writer(Random(seed), whole=whole, open=branching).text()
    rng = np.random.default_rng(seed)
    texels, u, k, table = (numbers(rng, *shape) for shape in ((8, 8, 4), (4,), (1,), (3, 4)))
    y, x = np.divmod(np.arange(COUNT, dtype=np.float32), np.float32(WIDTH))
    place = np.stack([x + np.float32(0.5), y + np.float32(0.5), 0 * x, 0 * x + 1])
    level = [np.repeat(v[:, None], COUNT, 1) for v in (u, k, *table)]
    given: dict[str, tuple[str, F32 | list[F32]]] = {
        "p": ("float", place),
        "u": ("float", level[0]),
        "k": ("float", level[1]),
        "table": ("float", level[2:]),
    }
    unit = parse(text, f"kernel {seed}")
    expected, killed = run(unit, given, COUNT, texels)
    expected = np.where(killed, np.float32(UNTOUCHED), expected)
    try:
        program = compile_unit(unit, branching=branching)
    except Fault as fault:
        assert branching and "too deep inside" in fault.problem  # one in 300
        return ""
    assert assemble(disassemble(program)) == program
    (drawn,) = draw_all(
        program,
        (WIDTH, HEIGHT),
        textures={0: texels},
        texcoords=[fragment_texcoords(0, WIDTH, HEIGHT)],
        local=dict(enumerate(map(vec4, (u, k, *table)))),
        initial=(UNTOUCHED,) * 4,
        executor=executor,
    )
    result = drawn.reshape(COUNT, 4).T
    # An int has no sign at zero, a float has; NaN is one value.
    same = (result == expected) & (whole | (np.signbit(result) == np.signbit(expected)))
    same |= np.isnan(result) & np.isnan(expected)
    return "" if same.all() else f"{text}\n{np.argwhere(~same)[:3]}"
