"""Typical mistakes in Python: each is one line that says how to mend it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpgpu_legacy import Machine, Pipeline, Texels, find, run_program
from gpgpu_legacy.errors import InputError

DOUBLE = (
    "!!ARBfp1.0 TEMP r; TEX r, fragment.position, texture[0], RECT;"
    " MUL result.color, r, program.local[0]; END"
)
ONES = np.ones((4, 4))


class Doubled:
    """A pipeline, its textures, and what it is given otherwise."""

    def __init__(self) -> None:
        self.p = Pipeline("doubled")
        self.a, self.b = self.p.input("a", 4, 4), self.p.texture("b", 4, 4)

    def draw(self, textures: Any = None, **given: Any) -> None:
        known = {0: self.a} if textures is None else textures
        self.p.draw(DOUBLE, known, into=self.b, **({"local": {0: 2}} | given))

    def made(self) -> Any:
        self.draw()
        self.p.output("b", self.b)
        return self.p


MISTAKES: list[tuple[Callable[[Any], object], str]] = [
    (lambda d: d.draw(d.a), "draw: textures is a Texture; give a dict, as in {0: …}"),
    (lambda d: d.draw({0.5: d.a}), "a number of textures is 0.5; it must be an integer"),
    (lambda d: d.draw({"s": d.a}), "has no sampler s; its source names none, so give an index"),
    (lambda d: d.draw(local=2), "draw: local is 2; give a dict by number"),
    (lambda d: d.draw(locals={0: 2}), "draw takes no locals; did you mean local?"),
    (lambda d: d.draw(texcoords=Texels(1)), "draw: texcoords is a Texels; give a dict"),
    (
        lambda d: d.p.draw(DOUBLE, {0: d.a}),
        "missing a required argument: 'into'; write draw(prog",
    ),
    (
        lambda d: [0 for _ in d.p.repeat(4)],
        "repeat makes a block, which has no iteration of Python",
    ),
    (lambda d: d.p.input("x", 4), "input: missing a required argument: 'columns'"),
    (lambda d: d.p.call("kernel void f(out float a<>) { a = 1; }"), "parameters a, of which 0"),
    (lambda d: d.made().run(ONES), "run: inputs is an ndarray; give a dict by name"),
    (lambda d: d.made().run(a=[[1, 2], [3]]), "input a has rows of different lengths"),
    (lambda d: d.made().run(a=ONES * 1e300), "input a has 1e+300, and float32 ends at 3.4e38"),
    (lambda d: d.made().run(executr="numpy"), "no input or option executr; did you mean executor?"),
    (lambda d: d.made().run(exact="yes"), "Machine: exact is 'yes'; give True or False"),
    (lambda d: d.made().run(machine="numpy"), "machine is 'numpy'; give a Machine"),
    (lambda d: d.made().run(a=ONES)["c"], "this run has no output c; its outputs are b"),
    (lambda d: d.made().open(a=ONES).step(), "open makes a block, which has no step"),
    (lambda d: d.made().trace(1), "texel is 1; give its column and its row, as in (3, 4)"),
    (lambda d: d.made().figure(c=ONES), "doubled has no input or option c; its inputs are a"),
    (lambda d: d.made().cache(8192), "cache: cache is 8192; give a text"),
    (lambda d: d.made().cache("8K,4way,64B", writes="x"), "writes is 'x'; give allocate or no-"),
    (lambda d: d.made().cache().plot(3), "plot: path is 3; give a file's name or a text"),
    (lambda d: d.made().check(9700), "check: chip is 9700; give a text"),
    (lambda d: run_program(DOUBLE, 4, 4, ONES), "run_program: textures is an ndarray; give a dict"),
    (lambda d: Machine(foo=1), "Machine takes no foo; its arguments are exact, arithmetic"),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES, ids=[m for _, m in MISTAKES])
def test_a_mistake_is_one_line(mistake: Callable[[Any], object], message: str) -> None:
    with pytest.raises(InputError) as raised:
        mistake(Doubled())
    assert message in str(raised.value) and "\n" not in str(raised.value)
    assert raised.value._render_traceback_() == [f"{type(raised.value).__name__}: {raised.value}"]


def test_the_same_words_in_all_verbs() -> None:
    p = Doubled().made()
    run = p.run(a=ONES, executor="numpy")
    assert (run["b"] == 2).all() and run["b"] is run.outputs["b"] is run.b
    assert p.trace((1, 2), a=ONES * 3, executor="numpy").texel == (1, 2)
    assert p.figure(a=ONES, executor="numpy").panels[-1].texels.max() == 2
    with p.open(a=ONES, executor="numpy", exact=True) as state:
        state.step()
        assert (state["b"] == 2).all()
    jacobi = find("jacobi", n=8)
    assert jacobi.count("n").over == jacobi.count(["n"]).over == ("n",)
