"""The words of a verb, and sizes that follow the inputs."""

from __future__ import annotations

from inspect import signature

import numpy as np
import pytest

from gpgpu_legacy import find
from gpgpu_legacy.api.command.words import Job, Jobs, split
from gpgpu_legacy.api.figures.figure import figure
from gpgpu_legacy.api.pipeline import RESERVED, Pipeline
from gpgpu_legacy.api.run import How, opened
from gpgpu_legacy.api.run import run as run_plan
from gpgpu_legacy.api.trace import trace
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure.benchmark import bench
from gpgpu_legacy.runtime.machine import Machine


def test_a_path_is_no_parameter() -> None:
    words = ("jacobi", "n=64", "./n=64/plan.json", "b=a=b.npy")
    assert split(words) == (["jacobi", "./n=64/plan.json"], {"n": "64", "b": "a=b.npy"})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("jacobi", "n="), "n= has no value; give one, as in n=512"),
        (("jacobi", "n=1", "n=2"), "n is given twice; give it once"),
        (("jacobi", "n=64,128"), "n=64,128 is a sweep, but this command takes one value"),
        (("jacobi", "life"), "jacobi, life are given; give one algorithm's name"),
        ((), "no WHAT is given"),
        (("jacobi", "pases=3"), "jacobi has no pases; did you mean passes?"),
        (("jacobi", "block=3"), "jacobi has no block; its parameters are n, passes, its inputs b"),
        (("jacobi", "n=b.npy"), "jacobi: n is 'b.npy'; give a whole number"),
        (("jacobi", "executor=jit"), "jacobi has no executor; it is an option, as in --executor"),
        (("jacobi", "b=5"), "5 is not an array; give one of .npy"),
    ],
)
def test_words_that_do_not_fit(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError) as raised:
        Job(words).pipeline()
    assert message in str(raised.value)


def test_commas_sweep_and_each_takes_the_parameters_that_it_has() -> None:
    jobs = Jobs(("larson-mcallister", "hall-carr-hart-multi", "n=8,16", "block=2,4"))
    cases = [(p.name, p.parameters["n"], p.parameters.get("block")) for p in jobs.pipelines()]
    assert cases == [
        *(("larson-mcallister", n, None) for n in (8, 16)),
        *(("hall-carr-hart-multi", n, b) for n in (8, 16) for b in (2, 4)),
    ]
    with pytest.raises(InputError, match="has no q"):
        Jobs(("larson-mcallister", "hall-carr-hart-multi", "q=1")).pipelines()
    with pytest.raises(InputError, match="the sweep has 1024 cases; give at most 1000"):
        numbers = ",".join(map(str, range(1, 33)))
        Jobs(("jacobi", f"n={numbers}", f"passes={numbers}")).pipelines()


@pytest.mark.parametrize(
    ("what", "given", "shapes", "sizes"),
    [
        ("jacobi", {"passes": 3}, {"b": (7, 7)}, {"n": 7}),
        ("bitonic-sort", {}, {"values": (512,)}, {"n": 512}),
        ("row-packed", {}, {"A": (5, 7), "B": (7, 3)}, {"m": 5, "l": 7, "n": 3}),
        ("row-packed", {"n": 4}, {"A": (5, 7)}, {"m": 5, "l": 7, "n": 4}),
        ("larson-mcallister", {"transpose_a": True}, {"A": (7, 5), "B": (7, 3)}, {"m": 5, "l": 7}),
    ],
)
def test_sizes_follow_the_inputs(
    what: str,
    given: dict[str, object],
    shapes: dict[str, tuple[int, ...]],
    sizes: dict[str, int],
) -> None:
    pipeline = find(what, **given).sized({name: np.zeros(s) for name, s in shapes.items()})
    assert {name: pipeline.operands[name].array_shape for name in shapes} == shapes
    assert {name: pipeline.parameters[name] for name in sizes} == sizes


def test_inputs_that_disagree_are_refused() -> None:
    with pytest.raises(InputError, match="input B is 6×3, but row-packed needs 7×3; give arrays"):
        find("row-packed").run(A=np.zeros((5, 7)), B=np.zeros((6, 3)))
    with pytest.raises(InputError, match="needs 8×8"):
        find("jacobi", n=8).run(b=np.zeros((9, 9)))


def test_no_input_is_called_as_an_option_of_a_run() -> None:
    options = {
        name
        for verb in (run_plan, trace, figure, bench, opened)
        for name in signature(verb).parameters
    }
    fields = {*Machine.__dataclass_fields__, *How.__annotations__}
    assert options | fields == RESERVED | {"p", "how"}
    with pytest.raises(InputError, match="an input is called seed, as an option of a run is"):
        Pipeline("p").input("seed", 1, 1)
