"""What commands share: the words of a verb, and options that several commands have.

    run hall-carr-hart-multi n=1024 block=32 A=a.npy
    bench larson-mcallister jacobi n=256,512

A word NAME=VALUE is a parameter or an input; every other word is a WHAT: an algorithm's name,
FILE.py[:function] or a plan.json.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import click

from gpgpu_legacy.algorithms.registry import PLAN, find_algorithm, is_program
from gpgpu_legacy.api.command.options import (
    Argument,
    Option,
    Several,
    algorithm_names,
    arithmetic_names,
    chip_names,
    executor_names,
)
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError, hint, integer_in, pair_in
from gpgpu_legacy.languages.brook import SUFFIX as BROOK
from gpgpu_legacy.languages.language import is_text

if TYPE_CHECKING:
    from gpgpu_legacy.algorithms.algorithm import Algorithm
    from gpgpu_legacy.api.pipeline import Pipeline
    from gpgpu_legacy.cache.access import Access
    from gpgpu_legacy.isa.arithmetic import F32
    from gpgpu_legacy.isa.program import Program

T = TypeVar("T")

# Options that several commands have -----------------------------------------------------------


def warn_if_busy(share: float | None) -> None:
    """Print a line on stderr if other processes used much of the machine during a measurement.

    share: the part of the processors' time that they used, from 0 to 1; None if unknown.
    """
    from gpgpu_legacy.measure.timing import busy_warning

    if warning := busy_warning(share):
        print(f"gpgpu-legacy: {warning}", file=sys.stderr)


PAPER_SIZE, PAPER_BLOCK = 1024, 32  # the example of Hall, Carr & Hart's Section 5.3
QUICK_SIZE = 256  # of computed or simulated products: any executor answers within seconds
ROUNDS, BUDGET_S = 5, 60.0  # of measurements; a test compares them with those of measure/
TABLES_BUDGET_S = 15.0  # enough for a GPU; slow drawings in software are left out

# The names in isa/arithmetic.py, which imports NumPy.
ARITHMETICS = "fp32, fp24, fp24-chop, fp16, fp16-chop, fx12, fx12-chop, rc9, rc9-chop, ff8"

ExecutorName = Annotated[str, "NAME", "What runs it; see `gpgpu-legacy doctor`.", executor_names]
CHIP = Option("NAME", "See `gpgpu-legacy chips`.", chip_names)
SIZE = Option("N", "Multiply N×N matrices.")
BLOCK = Option("B", "The paper's b, the steps of the sum in one pass.")
CACHE = Option(
    "SPEC",
    "Simulate this cache: size, ways, line and policy (lru, fifo, random, plru, random-plru), such "
    "as 8K,4way,64B or 32K,fully,128B,fifo.",
)
RASTER = Option("ORDER", "Raster order: scan, tiled:WxH (or WxH), morton, hilbert.")
LAYOUT = Option("LAYOUT", "Layout of textures: linear, WxH blocks, morton, 6d, 6d:WxH,WxH.")
IN_FLIGHT = Option(
    "N",
    "Keep this many fragments in flight: all make their first lookup, then their second, lastly "
    "their writes.",
)
Executors = Annotated[
    tuple[str, ...],
    "NAME",
    "See `gpgpu-legacy doctor` (default: all that work here, the reference for plans alone).",
    executor_names,
]
Chips = Annotated[tuple[str, ...], CHIP]
Caches = Annotated[tuple[str, ...], CACHE]
Rasters = Annotated[tuple[str, ...], RASTER]
Layouts = Annotated[tuple[str, ...], LAYOUT]
ManyInFlight = Annotated[tuple[int, ...], IN_FLIGHT]
Seed = Annotated[int, "SEED", "Seed of all random numbers."]
Seconds = Annotated[float, "SECONDS", "Stop after this time, preparation included."]
AnyTime = Annotated[float | None, "SECONDS", "Stop after this time (default: no limit)."]
Dask = Annotated[
    str,
    "ADDRESS",
    "Compute on the Dask cluster with this scheduler, such as tcp://10.0.0.1:8786, and not in "
    "processes here.",
]


@frozen
class AccessOptions:
    """How fragments access textures."""

    raster: Annotated[str, RASTER] = "scan"
    layout: Annotated[str, LAYOUT] = "linear"
    in_flight: Annotated[int, IN_FLIGHT] = 1

    def access(self) -> Access:
        """The order, the layout and the number in flight."""
        from gpgpu_legacy.cache.access import parse_access

        return parse_access(self.layout, self.raster, in_flight=self.in_flight)


@frozen
class MachineOptions:
    """The executor of a plan, and how it computes."""

    executor: ExecutorName = "auto"
    exact: Annotated[bool, "Give numpy's bits, or refuse."] = False
    flush_denormals: Annotated[
        bool, "With --exact: accept a device that flushes denormals to 0."
    ] = False
    arithmetic: Annotated[
        str,
        "NAME",
        f"Round every operation to this format: {ARITHMETICS}.",
        arithmetic_names,
    ] = "fp32"

    def how(self) -> dict[str, Any]:
        """The executor and a Machine; InputError for an unknown arithmetic."""
        from gpgpu_legacy.isa.arithmetic import find_arithmetic
        from gpgpu_legacy.runtime.machine import Machine

        arithmetic = find_arithmetic(self.arithmetic)
        machine = Machine(self.exact, arithmetic, denormals=not self.flush_denormals)
        return {"executor": self.executor, "machine": machine}


# Words ------------------------------------------------------------------------------------------

MOST_CASES = 1000
"""The most combinations of a sweep: all are built before the first is run."""

WHAT_HELP = (
    "An algorithm's name (see `gpgpu-legacy algorithms`), FILE.py[:function], or a plan.json; then "
    "parameters as in n=512, and inputs as in b=b.npy."
)
OR_BROOK = " Or FILE.br, a Brook program; then --, and its arguments."

_NAMED = re.compile(r"([^=/\\.]+)=(.*)", re.DOTALL)


def split(words: Several[str]) -> tuple[list[str], dict[str, str]]:
    """The words that are a WHAT, and the values of the others by name."""
    whats, given = list[str](), dict[str, str]()
    for word in words:
        named = None if is_text(word) else _NAMED.fullmatch(word)
        if named is None:
            whats.append(word)
            continue
        name, value = named[1].strip(), named[2].strip()
        if not value:
            raise InputError(f"{word} has no value; give one, as in {name}=512")
        if name in given:
            raise InputError(f"{name} is given twice; give it once")
        given[name] = value
    return whats, given


@dataclass(frozen=True)
class Job:
    """One WHAT with its parameters and inputs."""

    words: Annotated[
        Several[str], Argument("WHAT [NAME=VALUE]...", WHAT_HELP + OR_BROOK, algorithm_names)
    ] = ()

    @cached_property
    def what(self) -> str:
        """The only WHAT; InputError for none or several."""
        whats, _ = split(self.words)
        if len(whats) != 1:
            problem = f"{', '.join(whats)} are given" if whats else "no WHAT is given"
            raise InputError(
                f"{problem}; give one algorithm's name, FILE.py[:function] or plan.json, and "
                "parameters as in n=512"
            )
        return whats[0]

    def programs(self) -> list[str]:
        """All WHAT, if each is a program: FILE.fp, FILE.cg:entry, a text, or - for standard input.

        If one is not, the list is empty. Raises InputError for programs with parameters.
        """
        whats, given = split(self.words)
        if not all(what == "-" or is_program(what) for what in whats):
            return []
        if whats and given:
            raise InputError(
                f"{whats[0]} is a program, which has no parameters; leave {next(iter(given))}= out"
            )
        return whats

    def pipeline(self) -> Pipeline:
        """The pipeline, built for its parameters; its sizes follow the inputs."""
        return self.built[0]

    @property
    def brook(self) -> Several[str]:
        """FILE.br and the program's arguments; nothing for another WHAT."""
        return self.words if self.words and self.words[0].endswith(BROOK) else ()

    @cached_property
    def built(self) -> tuple[Pipeline, dict[str, Any]]:
        """The pipeline, and its inputs: from files, or those in the run of a Brook program."""
        if self.brook:
            from gpgpu_legacy.api.host.program import recorded

            return recorded(*self.brook, profile=asked().get("profile", ""))
        algorithm, given = self.algorithm, split(self.words)[1]
        for name, value in given.items():
            parameter = algorithm.parameters.get(name)
            if parameter is not None and "," in value and parameter.kind is not str:
                raise InputError(
                    f"{name}={value} is a sweep, but this command takes one value; `bench` and "
                    "`cache` sweep"
                )
        return _built(algorithm, given)

    @cached_property
    def algorithm(self) -> Algorithm:
        """The family of plans that the WHAT names."""
        return find_algorithm(self.what)


@frozen
class RunJob(Job):
    """A WHAT that is run: on its inputs, or on samples."""

    seed: Seed = 0

    def arrays(self) -> dict[str, F32]:
        """The inputs by name, or samples."""
        pipeline, arrays = self.built
        return pipeline.inputs(arrays, self.seed)


@frozen
class Jobs:
    """Several WHAT, and sweeps of their parameters."""

    words: Annotated[
        Several[str], Argument("WHAT... [NAME=VALUE,…]...", WHAT_HELP, algorithm_names)
    ] = ()

    def pipelines(self, *default: str) -> list[Pipeline]:
        """All WHAT, for all combinations of the values of swept parameters.

        default: the WHAT if none is given. With several WHAT, each takes the parameters that it
        has; a parameter that none has is refused.
        """
        return [pipeline for pipeline, _ in self.cases(*default)]

    def cases(self, *default: str) -> list[tuple[Pipeline, dict[str, Any]]]:
        """The pipelines of `pipelines`, each with its inputs from files."""
        whats, given = split(self.words)
        algorithms = [find_algorithm(what) for what in dict.fromkeys(whats or default)]
        if not algorithms:
            raise InputError("no WHAT is given; give one, as in jacobi n=256,512")
        cases = []
        for algorithm in algorithms:
            others = {n for a in algorithms for n in a.parameters} - algorithm.parameters.keys()
            own = {name: value for name, value in given.items() if name not in others}
            cases += [_built(algorithm, values) for values in _combinations(algorithm, own)]
        return cases


@frozen
class Size:
    """The size of n×n matrices, for a study of all methods."""

    words: Annotated[Several[str], Argument("[n=N]", "The size (default: the paper's, 1024).")] = ()

    @property
    def n(self) -> int:
        """The size; InputError for other words."""
        whats, given = split(self.words)
        number = integer_in(given.pop("n", "1024"))
        if whats or given or number is None:
            raise InputError("the study has only a size; write n=1024")
        return number


def _combinations(algorithm: Algorithm, given: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The values of all parameters, for each combination of those that are swept."""
    swept = {n: v.split(",") for n, v in given.items() if n in algorithm.parameters}
    count = prod(map(len, swept.values()))
    if count > MOST_CASES:
        raise InputError(
            f"the sweep has {count} cases; give at most {MOST_CASES}, since all are built first"
        )
    for values in product(*swept.values()):
        yield {**given, **dict(zip(swept, (value.strip() for value in values), strict=True))}


_OPTIONS = ("executor", "exact", "arithmetic", "repeat", "seed", "chip", "output", "json")
"""Options of verbs that are easily mistaken for parameters."""


def _built(algorithm: Algorithm, given: Mapping[str, str]) -> tuple[Pipeline, dict[str, Any]]:
    """A pipeline and its inputs from files, with sizes that fit them."""
    from gpgpu_legacy.algorithms.algorithm import ITERATIONS
    from gpgpu_legacy.api.arrays import read_inputs
    from gpgpu_legacy.api.pipeline import Pipeline

    parameters = algorithm.parameters
    named = {*parameters, ITERATIONS}
    pipeline = Pipeline.of(algorithm, {n: t for n, t in given.items() if n in named})
    inputs, files = pipeline.operands, dict[str, Path]()
    if algorithm.name.endswith(PLAN):
        from gpgpu_legacy.plan.serialise import operand_names

        files = {
            matrix.name: path
            for matrix, file in operand_names(inputs.values()).items()
            if (path := Path(algorithm.name).with_name(file)).is_file()
        }
    files |= {name: Path(text) for name, text in given.items() if name not in named}
    for name in files.keys() - inputs:
        known = (
            f"its parameters are {', '.join(parameters) or 'none'}, its inputs "
            f"{', '.join(inputs) or 'none'}"
        )
        how = hint(name, [*parameters, *inputs], known)
        if name in _OPTIONS:
            how = f"it is an option, as in --{name}"
        raise InputError(f"{algorithm.name} has no {name}; {how}")
    arrays = read_inputs(pipeline.plan(), files) if files else {}
    return pipeline.sized(arrays), arrays


def asked() -> dict[str, Any]:
    """The options of how texts are compiled, which may stand anywhere in a call."""
    return click.get_current_context().find_root().obj or {}


def assembled(given: str) -> Program:
    """The program of a file, such as FILE.fp or FILE.cg:entry, of standard input, or of a text.

    Raises AssemblyError for one that does not assemble.
    """
    from gpgpu_legacy.files import read_standard_input, read_text
    from gpgpu_legacy.languages.language import MOST_CHARACTERS
    from gpgpu_legacy.languages.registry import program_of, split_entry

    text, name = given, "program"
    if given == "-":
        text, name = read_standard_input(MOST_CHARACTERS), "standard input"
    elif not is_text(given):
        text, name = read_text(Path(split_entry(given)[0]), MOST_CHARACTERS), given
    return program_of(text, name, **asked())


# Values of options ------------------------------------------------------------------------------


def parse_size(text: str) -> tuple[int, int]:
    """Width and height from WxH, or from N for both."""
    sides = text.lower().replace("×", "x").replace("x", ",")
    size = pair_in(sides if "," in sides else f"{sides},{sides}")
    if size is None or min(size) < 1:
        raise InputError(f"--size is {text!r}; give a width and a height, as in --size 256x128")
    return size


def parse_texel(option: str, text: str) -> tuple[int, int]:
    """A column and a row from X,Y."""
    texel = pair_in(text)
    if texel is None:
        raise InputError(f"{option} is {text!r}; give a column and a row, as in {option} 3,0")
    return texel


def pairs(
    option: str, texts: Several[str], key_in: Callable[[str], T | None], example: str
) -> Iterator[tuple[T, str]]:
    """Keys and values, from KEY=VALUE; each key may be given once."""
    seen = set()
    for text in texts:
        key, equals, value = text.partition("=")
        name = key_in(key)
        if not equals or name is None:
            raise InputError(f"{option} is {text!r}; write it as in {option} {example}")
        if name in seen:
            raise InputError(f"{option} gives {name} twice; give it once")
        seen.add(name)
        yield name, value
