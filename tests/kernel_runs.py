"""Random kernels in three languages, run by an executor, against a C compiler's float32."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from drawing import EXACT, F32, draw_all, fragment_texcoords
from numpy.typing import NDArray
from random_kernels import Brook, C, Cg, Glsl, Writer

from gpgpu_legacy import Pipeline
from gpgpu_legacy.errors import GpgpuLegacyError
from gpgpu_legacy.isa.program import Program, Vec4
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.languages.arb.printer import disassemble
from gpgpu_legacy.languages.brook.kernels import Kernels
from gpgpu_legacy.languages.c.parser import parse
from gpgpu_legacy.languages.cg.compiler import compile_text as cg_text
from gpgpu_legacy.languages.glsl.fragments import compile_text as glsl_text
from gpgpu_legacy.languages.language import CompilerOptions
from gpgpu_legacy.runtime.executor import Executor

WIDTH, HEIGHT, SIDE = 6, 5, 8
COUNT = WIDTH * HEIGHT
UNTOUCHED = 77.0
ODD = np.array([0.0, -0.0, 1, -1, 0.5, 2, -2.5, 3.25, 1e-3, 7, -4, 0.1], np.float32)
LANGUAGES = {"cg": Cg(), "glsl": Glsl(), "brook": Brook()}
EVERY = ("cg", "glsl", "brook")
CC = shutil.which("cc") or ""
FLAGS = ("-std=c99", "-O0", "-ffp-contract=off", "-fno-fast-math", "-w", "-shared", "-fPIC")
LIBRARY = Path(__file__).with_name("kernel_library.h")
RUN = """
void run_{0}(int count, const V *p, const V *given, const V *texels, float shift, V *result)
{{
    Image image = {{texels, shift}};
    for (int n = 0; n < count; n++) {0}(p[n], given[0], given[1].x, given + 2, image, result + n);
}}
"""
REFUSED = ("too deep inside", "executes more than 65536")
"""Messages with which a kernel with branches may be refused."""
BATCH = 50
"""The number of kernels that are compiled at once."""


def numbers(rng: np.random.Generator, *shape: int) -> F32:
    """Odd numbers and eighths."""
    eighths = rng.integers(-32, 32, shape) / 8
    return np.where(rng.random(shape) < 0.5, rng.choice(ODD, shape), eighths).astype(np.float32)


def vec4(values: F32) -> Vec4:
    x, y, z, w = np.resize(values, 4).tolist()
    return (x, y, z, w)


@lru_cache(maxsize=8)
def in_c(seeds: Sequence[int], language: str, *, branching: bool) -> ctypes.CDLL:
    """The kernels of these seeds in C, compiled to a library."""
    lines = [f'#include "{LIBRARY}"']
    for seed in seeds:
        text = written(seed, C(), branching=branching)
        lines += [text.replace("NAME", f"k{seed}"), RUN.format(f"k{seed}")]
    with TemporaryDirectory() as folder:
        source, library = Path(folder, "kernels.c"), Path(folder, "kernels.so")
        source.write_text("\n".join(lines))
        own = ["-DGLSL"] if language == "glsl" else []
        command = [CC, *FLAGS, *own, "-o", str(library), str(source), "-lm"]
        subprocess.run(command, check=True, timeout=300)
        return ctypes.CDLL(str(library))


def written(seed: int, language: Cg, *, branching: bool) -> str:
    return Writer(Random(seed), language, whole=seed % 3 == 0, open=branching).text()


def differences(
    seeds: Sequence[int], executor: Executor, language: str = "cg", *, branching: bool = False
) -> list[str]:
    """The kernels whose results differ from the C compiler's, each with the places.

    branching: whether the loops of kernels depend on data.
    """
    if not CC:
        pytest.skip("there is no C compiler")
    found = []
    for start in range(0, len(seeds), BATCH):
        batch = tuple(seeds[start : start + BATCH])
        library = in_c(batch, language, branching=branching)
        for seed in batch:
            text = written(seed, LANGUAGES[language], branching=branching)
            wrong = _different(text, seed, library, executor, language, branching=branching)
            found += [f"seed {seed}\n{text}\n{wrong[:3]}"] if len(wrong) else []
    return found


def _different(
    text: str,
    seed: int,
    library: ctypes.CDLL,
    executor: Executor,
    language: str,
    *,
    branching: bool,
) -> NDArray[np.intp]:
    """The places of a kernel's wrong results."""
    rng = np.random.default_rng(seed)
    texels, u, k, table = (numbers(rng, *shape) for shape in ((SIDE, SIDE, 4), (4,), (1,), (3, 4)))
    y, x = np.divmod(np.arange(COUNT, dtype=np.float32), np.float32(WIDTH))
    place = np.stack([x + np.float32(0.5), y + np.float32(0.5), 0 * x, 0 * x + 1], 1)
    given = np.stack([u, np.resize(k, 4), *table])
    expected = np.full((COUNT, 4), UNTOUCHED, np.float32)
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (place, given, texels, expected)]
    shift = ctypes.c_float(0.5 if language == "brook" else 0)
    library[f"run_k{seed}"](COUNT, *pointers[:3], shift, pointers[3])
    try:
        if language == "brook":
            p = streaming(text, tuple(map(vec4, given)))
            arrays = {"p": place.reshape(HEIGHT, WIDTH, 4), "image": texels}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # many divide by 0
                run = p.run(arrays, executor=executor.name, machine=EXACT)
            result = run["result"]
        else:
            program = compiled(text, language, branching=branching)
            result = drawn(program, given, texels, executor)
    except GpgpuLegacyError as error:  # one in 300
        assert branching and any(why in str(error) for why in REFUSED), f"{error}\n{text}"
        return np.zeros((0, 2), np.intp)
    result = np.asarray(result, np.float32).reshape(COUNT, 4)
    # An int has no sign at zero, a float has; NaN is one value.
    whole = seed % 3 == 0
    same = (result == expected) & (whole | (np.signbit(result) == np.signbit(expected)))
    same |= np.isnan(result) & np.isnan(expected)
    return np.argwhere(~same)


@lru_cache(maxsize=BATCH)
def compiled(text: str, language: str, *, branching: bool) -> Program:
    """The program of a text in Cg or GLSL."""
    options = CompilerOptions(profile="fp40" if branching else "arbfp1")
    program = {"cg": cg_text, "glsl": glsl_text}[language](text, "kernel", options)
    assert assemble(disassemble(program)) == program
    return program


def drawn(program: Program, given: F32, texels: F32, executor: Executor) -> F32:
    (drawn,) = draw_all(
        program,
        (WIDTH, HEIGHT),
        textures={0: texels},
        texcoords=[fragment_texcoords(0, WIDTH, HEIGHT)],
        local=dict(enumerate(map(vec4, given))),
        initial=(UNTOUCHED,) * 4,
        executor=executor,
    )
    return drawn


@lru_cache(maxsize=BATCH)
def streaming(text: str, numbers: tuple[Vec4, ...]) -> Pipeline:
    """The pipeline of a kernel in Brook; the kernel branches if it does not fit a straight line."""
    p, (u, k, *table) = Pipeline("kernel"), numbers
    streams = [
        p.stream("p", "float4", (HEIGHT, WIDTH), given=True),
        p.stream("image", "float4", (SIDE, SIDE), given=True),
        p.stream("result", "float4", (HEIGHT, WIDTH)),
    ]
    p.call(Kernels(parse(text, "kernel")).find("main"), *streams, u, k[0], *table)
    p.output("result", streams[2])
    return p
