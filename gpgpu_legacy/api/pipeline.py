"""A pipeline: a builder of plans together with all verbs for the plan."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence, Sized
from functools import cache
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict, TypeVar, Unpack

import numpy as np
from numpy.typing import ArrayLike

from gpgpu_legacy.algorithms.algorithm import ITERATIONS, Algorithm
from gpgpu_legacy.algorithms.parameters import titled
from gpgpu_legacy.algorithms.registry import find_algorithm
from gpgpu_legacy.decorators import block, public
from gpgpu_legacy.errors import GpgpuLegacyError, InputError, hint, shape_in_words
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.inputs import as_numbers, operands_of
from gpgpu_legacy.plan.textures import Matrix

if TYPE_CHECKING:
    from gpgpu_legacy.api.cache import CacheRun
    from gpgpu_legacy.api.count import Count
    from gpgpu_legacy.api.figures.figure import Figure
    from gpgpu_legacy.api.run import OpenPlan, Run
    from gpgpu_legacy.api.trace import Trace
    from gpgpu_legacy.chips.verdict import Verdict
    from gpgpu_legacy.measure.bench import Bench
    from gpgpu_legacy.plan.plan import Plan
    from gpgpu_legacy.predict.prediction import Prediction


# Sizes -------------------------------------------------------------------------------------------
#
# Sizes that follow the inputs: the parameters with which a plan fits the given arrays.
#
# No declaration links parameters to sizes. The family is built with other values, and the shapes
# of its inputs show the link.


Shapes = Mapping[str, tuple[int, ...]]

_Side = tuple[str, int]
"""The name of an input, and one of its axes."""


def _with_sizes(algorithm: Algorithm, given: dict[str, Any], shapes: Shapes) -> dict[str, Any]:
    """The given parameters of an algorithm, and sizes for inputs of these shapes.

    If no sizes fit all arrays, each size is one that some array asks for.
    """
    sides = {(n, axis): size for n, shape in shapes.items() for axis, size in enumerate(shape)}
    start = algorithm.builder(**given)
    solutions: dict[str, dict[_Side, int]] = {}

    def built(settings: dict[str, Any]) -> PlanBuilder | None:
        try:
            return algorithm.builder(**settings)
        except GpgpuLegacyError:  # the family refuses them
            return None

    for name, parameter in algorithm.parameters.items():
        if name in given or int not in parameter.kinds:
            continue
        for size in sorted({*sides.values()}, reverse=True):
            if tried := built(given | {name: size}):
                solutions[name] = _solved(sides, start, tried, start.parameters[name], size)
                break
        for size in dict.fromkeys(solutions.get(name, {}).values()):
            settings = given | {name: size}
            if (tried := built(settings)) and all(
                tried.operands[n].array_shape == shape for n, shape in shapes.items()
            ):
                return settings
    sizes: dict[str, int] = {}
    for side in sides:
        movers = [name for name, solved in solutions.items() if side in solved]
        if movers:  # of several, the one that changes the fewest axes
            name = min(movers, key=lambda mover: len(solutions[mover]))
            sizes.setdefault(name, solutions[name][side])
    return given | sizes


def _solved(
    sides: Mapping[_Side, int], start: PlanBuilder, tried: PlanBuilder, now: object, size: int
) -> dict[_Side, int]:
    """For each axis that a parameter changes, the value that gives the axis the wanted size.

    The parameter is `now` in `start`, and `size` in `tried`. Axes grow linearly with it.
    """
    values = {}
    for (name, axis), wanted in sides.items():
        shapes = [built.operands[name].array_shape for built in (start, tried)]
        if any(axis >= len(shape) for shape in shapes):
            continue
        before, after = (shape[axis] for shape in shapes)
        if before != after:
            steps = (size - now) / (after - before) if isinstance(now, int) else 1.0
            values[name, axis] = round(size + (wanted - after) * steps)
    return values


# Pipelines ---------------------------------------------------------------------------------------


T = TypeVar("T")

FIELDS = ("exact", "arithmetic", "tuning", "denormals")
"""The fields of a Machine; a test compares them."""

RESERVED = frozenset(
    (
        *("inputs", "executor", "machine", "repeat", "seed", "observer", "check", "progress"),
        *("texel", "textures", "instructions", "every_pass", "options", "budget", *FIELDS),
    )
)
"""The options of verbs that take inputs by name; no input may have such a name."""


class CacheKeywords(TypedDict, total=False):
    """The options of a simulated cache.

    inputs: by name, for lookups that depend on data; samples without any. in_flight: the number of
    fragments, or of quads, in flight. raster, layout: the order of fragments and the texture
    layout. quads: draw in quads of 2×2 fragments. second_level: a cache behind the first level,
    shared by all textures. per_texture: each texture has a first level of its own.
    writes: `allocate` if a write that misses fills a line, else `no-allocate`. seed: of random
    replacement. every_pass: also simulate iterations that provably repeat others.
    """

    inputs: Mapping[str, Any]
    in_flight: int
    raster: str
    layout: str
    quads: bool
    second_level: str
    per_texture: bool
    writes: str
    seed: int
    every_pass: bool


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

    _made: tuple[object, Plan] | None = None

    def __repr__(self) -> str:
        return f"<Pipeline {titled(self.name, self.parameters)}>"

    def _repr_html_(self) -> str:
        """The passes as a diagram, for a notebook."""
        return self.plan()._repr_html_()

    @classmethod
    def of(cls, algorithm: Algorithm, parameters: Mapping[str, Any]) -> Self:
        """The pipeline of an algorithm.

        algorithm: one that find_algorithm returns. parameters: by name; others have their defaults.
        """
        pipeline = cls(algorithm.name)
        pipeline.__dict__.update(algorithm.builder(**parameters).__dict__)
        for name in pipeline.operands:
            _check_name(name)
        return pipeline

    def plan(self) -> Plan:
        """The plan as it is now, validated; see `iterations`. It is kept until more is added."""
        if self._loop is not None:
            return super().plan()
        known = self._validator
        growing: tuple[Sized, ...] = (
            *known.matrices.values(), known.textures,
            self._inputs, self._outputs, self._items,
        )  # fmt: skip
        state = self.name, self.iterations, *map(len, growing)
        made = self._made
        if made is None or made[0] != state:
            made = self._made = state, super().plan()
        return made[1]

    @public
    def operand(
        self, name: str, rows: int, columns: int, *, shape: tuple[int, ...] | None = None
    ) -> Matrix:
        """Declare an input matrix; `upload` transfers it to a texture, and `input` does both.

        name: of the input; that of an option of `run` is refused. rows, columns: of the matrix.
        shape: of the caller's array; (rows, columns) if None.
        """
        return super().operand(_check_name(name), rows, columns, shape=shape)

    @public
    def sized(self, inputs: Mapping[str, ArrayLike]) -> Self:
        """The pipeline with sizes that fit its inputs, if an algorithm built it; else itself.

        inputs: arrays by name. Raises InputError for arrays that fit no sizes, or not one another.
        """
        shapes = {
            name: np.shape(values) for name, values in inputs.items() if name in self.operands
        }
        if self.family is None or all(
            self.operands[name].array_shape == shape for name, shape in shapes.items()
        ):
            return self
        algorithm, given = self.family[0], {**self.family[1]}
        ran = {name: given.pop(name) for name in (ITERATIONS,) if name in given}
        sized = self.of(algorithm, {**_with_sizes(algorithm, given, shapes), **ran})
        for name, shape in shapes.items():
            if (wanted := sized.operands[name].array_shape) != shape:
                raise InputError(
                    f"input {name} is {shape_in_words(shape)}, but {algorithm.name} needs "
                    f"{shape_in_words(wanted)}; give arrays that fit one another and the parameters"
                )
        return sized

    @public
    def inputs(self, given: Mapping[str, ArrayLike] | None = None, seed: int = 0) -> dict[str, F32]:
        """The given inputs by name, checked, or samples.

        given: the inputs. seed: of the samples.
        """
        return operands_of(self, self.plan(), given, seed)

    @public
    def run(self, inputs: Mapping[str, ArrayLike] | None = None, **more: Any) -> Run:
        """Run it on arrays by name: `p.run(b=B)`, or `p.run({"b": B})`; without any, on samples.

        inputs, more: the inputs, and options. executor: its name; `auto` takes what should finish
        first. machine: how it computes, or its fields by themselves: exact gives the reference's
        bits or refuses; arithmetic names the format that every operation is rounded to. repeat:
        the number of runs for the medians of times. seed: of samples. check: whether to compare
        the outputs with the reference function. observer: called after each pass. progress: called
        when the plan is prepared, and after each run.
        """
        from gpgpu_legacy.api.run import run

        return self._asked(run, inputs, more)

    @public
    @block
    def open(
        self, inputs: Mapping[str, ArrayLike] | None = None, **more: Any
    ) -> Generator[OpenPlan, None, None]:
        """Prepare the plan, and keep its textures: each step continues from the one before.

            with p.open(density=smoke) as state:
                state.step(10)
                state.outputs["density"]

        inputs, more: as for `run`; the options are executor, machine and its fields, and seed.
        """
        from gpgpu_legacy.api.run import opened

        with self._asked(opened, inputs, more) as state:
            yield state

    @public
    def count(self, over: Sequence[str] | str = ()) -> Count:
        """The cost of the plan: passes, fragments, instructions and bytes.

        over: parameters of the algorithm in which formulas are recovered, such as "n".
        """
        from gpgpu_legacy.api.count import count

        return count(self, over)

    @public
    def check(self, chip: str) -> Verdict:
        """Whether it would have loaded on a chip of the time.

        chip: its name; `gpgpu-legacy chips` lists them.
        """
        from gpgpu_legacy.api.check import check

        return check(self, chip)

    @public
    def predict(
        self,
        chip: str,
        *,
        cache: str | None = None,
        raster: str = "scan",
        layout: str = "linear",
        in_flight: int = 1,
        pass_us: float | None = None,
    ) -> Prediction:
        """The least time that it can take on a chip, and its bottleneck.

        chip: its name; `this` is this machine. cache, raster, layout, in_flight: a simulated cache
        in front of the chip's memory, and how fragments access it; see `cache`. pass_us: the fixed
        cost of a pass in microseconds, if the chip's is not known.
        """
        from gpgpu_legacy.predict.model import cache_model, predict_plan

        model = cache_model(cache, layout, raster, in_flight)
        return predict_plan(self, chip, model, pass_us)

    @public
    def cache(self, cache: str = "8K,4way,64B", **how: Unpack[CacheKeywords]) -> CacheRun:
        """Send its lookups and writes through a simulated cache.

        cache: size, ways, line and policy. how: inputs, by name, for lookups that depend on data,
        or samples without any; in_flight, the number of fragments, or of quads, in flight; raster
        and layout, the order of fragments and the layout of textures, as in `gpgpu-legacy cache`;
        quads, whether to draw in quads of 2×2; second_level, a cache behind the first level;
        per_texture, whether each texture has a first level of its own; writes, `allocate` if a
        write that misses fills a line; seed, of random replacement; every_pass, whether to simulate
        iterations that provably repeat others.
        """
        from gpgpu_legacy.api.cache import cache_plan  # imports numba

        return cache_plan(self, cache, **how)

    @public
    def trace(
        self,
        texel: tuple[int, int],
        inputs: Mapping[str, ArrayLike] | None = None,
        **more: Any,
    ) -> Trace:
        """One texel through the passes that write it: the lookups and the result of each.

        texel: its column and its row, from 0. inputs, more: as for `run`, and these options.
        executor, machine, seed: as for `run`. textures: names; by default, those behind the first
        output. instructions: whether to keep what the fragment executes in each pass. every_pass:
        whether to describe the passes that leave its value alone, too.
        """
        from gpgpu_legacy.api.trace import trace

        return self._asked(trace, inputs, more, texel)

    @public
    def figure(self, inputs: Mapping[str, ArrayLike] | None = None, **more: Any) -> Figure:
        """The output of each pass, as pictures: `p.figure().plot("sheet.png")`.

        `animate("film.gif")` shows the passes one after another. inputs, more: as for `run`, and
        these options. executor, machine, seed: as for `run`. options: FigureOptions.
        """
        from gpgpu_legacy.api.figures.figure import figure

        return self._asked(figure, inputs, more)

    @public
    def bench(self, inputs: Mapping[str, ArrayLike] | None = None, **more: Any) -> Bench:
        """Measure the times and errors of executors, in turn with peers and the reference function.

        inputs, more: as for `run`, and these options. machine, seed: as for `run`. executor: a
        name or several; by default all that work here. repeat: rounds. budget: seconds for all.
        """
        from gpgpu_legacy.measure.benchmark import bench

        return self._asked(bench, inputs, more)

    def _asked(
        self,
        verb: Callable[..., T],
        inputs: Mapping[str, ArrayLike] | None,
        more: dict[str, Any],
        *given: Any,
    ) -> T:
        """Call a verb with checked inputs and options.

        more: inputs and options by name. given: the verb's arguments before the inputs.
        """
        from gpgpu_legacy.api.run import How, with_machine

        named = {name: more.pop(name) for name in [*more] if name in self.operands}
        machine, options = with_machine(more.pop("machine", None), more)
        known = {*_parameters(verb), *How.__annotations__} - {"p", "how"}
        for name in options:
            if name not in known:
                inputs_ = ", ".join(self.operands) or "none"
                how = hint(name, [*self.operands, *known, *FIELDS], f"its inputs are {inputs_}")
                raise InputError(f"{self.name} has no input or option {name}; {how}")
        arrays = {
            name: as_numbers(f"input {name}", values, "an array of real numbers")
            for name, values in {**(inputs or {}), **named}.items()
        }
        return verb(self.sized(arrays), *given, arrays, machine=machine, **options)

    @public
    def dump(self, folder: Path | str, *, exact: bool = False) -> list[Path]:
        """Write plan.json, the programs and generated GLSL to a folder; returns their paths.

        folder: its name. exact: whether the GLSL contracts no multiply-add.
        """
        from gpgpu_legacy.api.dump import dump

        return dump(self.plan(), Path(folder), exact=exact)


@cache
def _parameters(verb: Callable[..., object]) -> tuple[str, ...]:
    return tuple(signature(verb).parameters)


def _check_name(name: str) -> str:
    if name in RESERVED:
        raise InputError(f"an input is called {name}, as an option of a run is; give another name")
    return name


@public
def find(what: str, /, **parameters: Any) -> Pipeline:
    """Build an algorithm: `find("jacobi", n=64).run()`.

    what: its name or alias (`gpgpu-legacy algorithms` lists them), FILE.py[:function], whose code
    is executed, or a plan.json. parameters: by name. Those that are left out have their defaults,
    but sizes follow the arrays that it is run on. Raises InputError for an unknown parameter, and
    for a value that does not fit.
    """
    return Pipeline.of(find_algorithm(what), parameters)
