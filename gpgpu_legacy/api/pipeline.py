"""A pipeline: a builder of plans together with all verbs for the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike

from gpgpu_legacy.algorithms.algorithm import ITERATIONS
from gpgpu_legacy.algorithms.parameters import titled
from gpgpu_legacy.algorithms.registry import find_algorithm
from gpgpu_legacy.errors import InputError, as_positive, shape_in_words
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.inputs import operands_of
from gpgpu_legacy.plan.textures import Matrix

if TYPE_CHECKING:
    from gpgpu_legacy.algorithms.algorithm import Algorithm
    from gpgpu_legacy.api.cache import CacheKeywords, CacheRun
    from gpgpu_legacy.api.count import Count
    from gpgpu_legacy.api.run import Run
    from gpgpu_legacy.api.state import State
    from gpgpu_legacy.api.trace import Trace
    from gpgpu_legacy.chips.verdict import Verdict
    from gpgpu_legacy.figures.figure import Figure
    from gpgpu_legacy.figures.options import FigureOptions
    from gpgpu_legacy.measure.bench import Bench
    from gpgpu_legacy.predict.model import CacheModel
    from gpgpu_legacy.predict.prediction import Prediction

RESERVED = frozenset(
    (
        *("inputs", "executor", "machine", "repeat", "seed", "observer", "check", "progress"),
        *("exact", "arithmetic", "tuning", "denormals"),
    )
)
"""The keywords of `run`, which are not allowed as names of inputs."""


class Pipeline(PlanBuilder):
    """An algorithm in passes: built call by call, then run, counted, checked and drawn.

    >>> p = Pipeline("double")
    >>> x, y = p.input("x", 1, 3), p.texture("y", 3, 1)
    >>> p.draw('''!!ARBfp1.0
    ... TEMP r;
    ... TEX r, fragment.position, texture[0], RECT;
    ... ADD result.color, r, r;
    ... END''', {0: x}, into=y)
    >>> p.output("y", y)
    >>> p.run(x=[[1, 2, 3]]).y
    array([[2., 4., 6.]], dtype=float32)
    """

    def __repr__(self) -> str:
        return f"<Pipeline {titled(self.name, self.parameters)}>"

    def _repr_html_(self) -> str:
        """The passes as a diagram, for a notebook."""
        return self.plan()._repr_html_()

    @classmethod
    def of(cls, algorithm: Algorithm, parameters: Mapping[str, Any]) -> Self:
        """An algorithm's plan for these parameters; the others have their defaults."""
        pipeline = cls(algorithm.name)
        pipeline.__dict__.update(algorithm.builder(**parameters).__dict__)
        for name in pipeline.operands:
            _check_name(name)
        return pipeline

    def operand(
        self, name: str, rows: int, columns: int, *, shape: tuple[int, ...] | None = None
    ) -> Matrix:
        """See PlanBuilder; an input may not be named like a keyword of `run`."""
        return super().operand(_check_name(name), rows, columns, shape=shape)

    def sized(self, inputs: Mapping[str, ArrayLike]) -> Self:
        """The pipeline with the sizes of its inputs, if an algorithm built it; else itself.

        Raises InputError for arrays that fit no sizes, or disagree.
        """
        shapes = {
            name: np.shape(values) for name, values in inputs.items() if name in self.operands
        }
        if self.family is None or all(
            self.operands[name].array_shape == shape for name, shape in shapes.items()
        ):
            return self
        algorithm, given = self.family
        from gpgpu_legacy.api.sizes import SizeSearch

        ran = {name: given[name] for name in (ITERATIONS,) if name in given}
        search = SizeSearch(algorithm, {n: v for n, v in given.items() if n not in ran}, shapes)
        sized = self.of(algorithm, {**search.settings(), **ran})
        for name, shape in shapes.items():
            if (wanted := sized.operands[name].array_shape) != shape:
                raise InputError(
                    f"input {name} is {shape_in_words(shape)}, but {algorithm.name} needs "
                    f"{shape_in_words(wanted)}; give arrays that fit one another and the parameters"
                )
        return sized

    def inputs(self, given: Mapping[str, ArrayLike] | None = None, seed: int = 0) -> dict[str, F32]:
        """The given inputs by name, checked, or samples that depend on the seed."""
        return operands_of(self, self.plan(), given, seed)

    def run(self, inputs: Mapping[str, ArrayLike] | None = None, **more: Any) -> Run:
        """Run it on arrays by name: `p.run(b=B)`, or `p.run({"b": B})`.

        Without any input, it runs on samples. more: as for `gpgpu_legacy.api.run.run`: inputs, and
        executor, repeat, seed, check, exact, arithmetic and others.
        """
        from gpgpu_legacy.api.run import run

        named = {name: more.pop(name) for name in [*more] if name in self.operands}
        given = {**(inputs or {}), **named}
        return run(self.sized(given), given, **more)

    @contextmanager
    def open(self, inputs: Mapping[str, ArrayLike] | None = None, **more: Any) -> Iterator[State]:
        """The plan, prepared, with textures that stay: each step goes on from the one before.

            with p.open(density=smoke) as state:
                state.step(10)
                state.outputs["density"]

        more: inputs by name, and executor, seed, exact and others, as for `run`.
        """
        from gpgpu_legacy.api.state import opened

        named = {name: more.pop(name) for name in [*more] if name in self.operands}
        given = {**(inputs or {}), **named}
        with opened(self.sized(given), given, **more) as state:
            yield state

    def count(self, over: Sequence[str] = ()) -> Count:
        """The cost of the plan: passes, fragments, instructions and bytes.

        over: parameters of the algorithm in which formulas are recovered, such as `["n"]`.
        """
        from gpgpu_legacy.api.count import count

        return count(self, over)

    def check(self, chip: str) -> Verdict:
        """Whether it would have loaded on a chip of the time; `gpgpu-legacy chips` lists them."""
        from gpgpu_legacy.api.check import check

        return check(self, chip)

    def predict(
        self, chip: str, cache: CacheModel | None = None, *, pass_us: float | None = None
    ) -> Prediction:
        """The least time that it can take on a chip, and its bottleneck; `this` is this machine.

        cache: a simulated one in front of the chip's memory. pass_us: the fixed cost of a pass.
        """
        from gpgpu_legacy.predict.model import predict_plan

        return predict_plan(self, chip, cache, pass_us)

    def cache(self, cache: str = "8K,4way,64B", **how: Unpack[CacheKeywords]) -> CacheRun:
        """Its lookups and writes through a simulated cache: size, ways, line and policy.

        how: see CacheKeywords.
        """
        from gpgpu_legacy.api.cache import cache_plan  # imports numba

        return cache_plan(self, cache, **how)

    def trace(
        self, x: int, y: int, inputs: Mapping[str, ArrayLike] | None = None, **more: Any
    ) -> Trace:
        """The texel of column x and row y through the passes that write it.

        more: as for `gpgpu_legacy.api.trace.trace`: textures, instructions, seed and others.
        """
        from gpgpu_legacy.api.trace import trace

        return trace(self.sized(inputs or {}), x, y, inputs, **more)

    def figure(
        self,
        inputs: Mapping[str, ArrayLike] | None = None,
        options: FigureOptions | None = None,
        **more: Any,
    ) -> Figure:
        """The output of each pass, as pictures: `p.figure().plot("sheet.png")`.

        `animate("film.gif")` shows the passes one after another. more: executor, machine and seed.
        """
        from gpgpu_legacy.api.figure import figure

        return figure(self.sized(inputs or {}), inputs, options, **more)

    def bench(
        self,
        inputs: Mapping[str, ArrayLike] | None = None,
        *,
        executors: Sequence[str] = (),
        repeat: int = 5,
        budget_s: float = 60.0,
        seed: int = 0,
    ) -> Bench:
        """Times of the executors, in turn with peers and the reference function, and their errors.

        executors: all that work here if empty. repeat: rounds. budget_s: seconds for all of it.
        """
        from gpgpu_legacy.measure.benchmark import Benchmark, Case
        from gpgpu_legacy.measure.budget import Budget
        from gpgpu_legacy.measure.rounds import Rounds

        sized = self.sized(inputs or {})
        case = Case(sized, sized.inputs(inputs) if inputs else None, executors)
        bench = Benchmark([case], rounds=Rounds(as_positive("repeat", repeat)), seed=seed)
        return bench.measure(Budget(budget_s))

    def dump(self, folder: Path | str, *, exact: bool = False) -> list[Path]:
        """Write plan.json, the programs and generated GLSL to a folder; returns their paths.

        exact: whether the GLSL contracts no multiply-add.
        """
        from gpgpu_legacy.api.dump import dump

        return dump(self.plan(), Path(folder), exact=exact)


def _check_name(name: str) -> str:
    if name in RESERVED:
        raise InputError(f"an input is called {name}, as an option of a run is; give another name")
    return name


def find(what: str, /, **parameters: Any) -> Pipeline:
    """Build an algorithm: `find("jacobi", n=64).run()`.

    what: its name or alias (`gpgpu-legacy algorithms` lists them), FILE.py[:function], whose code
    is executed, or a plan.json. The parameters that are left out have their defaults, but sizes
    follow the arrays that it is run on. Raises InputError for an unknown parameter, and for a value
    that does not fit.
    """
    return Pipeline.of(find_algorithm(what), parameters)
