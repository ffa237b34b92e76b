"""What a caller gives wrong in practice, and what is right in more than one form."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from gpgpu_legacy import Machine, Options, Pipeline, Shape, assemble, find_method, run, run_program
from gpgpu_legacy.api.keywords import MachineKeywords, ProductKeywords
from gpgpu_legacy.arguments import described
from gpgpu_legacy.errors import InputError

PROGRAM = assemble("!!ARBfp1.0\nMOV result.color, 1;\nEND")
A = np.ones((2, 2))


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"method": "no-such"}, "there is no method no-such; choose from"),
        ({"executor": "gpu"}, "there is no executor gpu; choose from auto"),
        ({"repeat": 0}, "repeat is 0; it must be at least 1"),
        ({"block": 8 / 2}, "block is 4.0; it must be an integer"),
        ({"accumulate": "sum"}, "accumulate is 'sum'; choose from copy, ping-pong, blend"),
        ({"texture_format": "r32"}, "cannot use the texture format r32; choose from"),
        ({"arithmetic": "fp8"}, "arithmetic is 'fp8'; choose from fp32"),
        ({"c": "C"}, "C holds"),
        ({"options": Options(adds=True)}, "options.adds is True, but there is no c"),
    ],
)
def test_a_product_names_what_does_not_fit(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        run(A, A, **keywords)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"blend": 1}, "blend is 1; choose from none, add"),
        ({"draw_buffers": 9}, "draw_buffers is 9; it must be from 1 to 8"),
        ({"clear": "red"}, "clear holds text, not real numbers; give four numbers"),
        ({"local": {99999: (1, 2, 3, 4)}}, "local[99999] is given; indices are 0 to"),
    ],
)
def test_a_drawing_names_what_does_not_fit(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        run_program(PROGRAM, 1, 1, **keywords)
    assert message in str(raised.value)


@pytest.mark.parametrize("width", [0, -1, 7 / 2])
def test_a_size_that_is_none_is_refused_when_it_is_given(width: Any) -> None:
    with pytest.raises(InputError, match=f"width is {width}; it must be "):
        Pipeline("p").texture("t", width, 1)


def test_options_and_a_machine_are_taken_whole_or_by_their_fields() -> None:
    whole = run(A, A, "hall-carr-hart-single", Options(block=2), Machine(exact=True))
    parts = run(A, A, "hall-carr-hart-single", block=2, exact=True)
    both = run(A, A, "hall-carr-hart-single", Options(block=1), block=2, alpha=2.0)
    assert whole.plan == parts.plan
    assert whole.options == parts.options
    assert (both.product == 2 * whole.product).all()
    assert (both.options.block, both.options.alpha) == (2, 2.0)
    names = {field.name for field in fields(Options)} - {"adds"}
    assert names | MachineKeywords.__annotations__.keys() == ProductKeywords.__annotations__.keys()
    with pytest.raises(TypeError, match="unexpected keyword argument 'blok'"):
        run(A, A, blok=2)  # type: ignore[call-arg]


def test_numbers_of_numpy_are_numbers() -> None:
    plan = find_method("hall-carr-hart-multi").plan(
        Shape(*np.array([3, 4, 5])), Options(block=np.int64(2), alpha=np.float32(2))
    )
    assert type(plan.results[0].rows) is int
    p = Pipeline("p")
    assert type(p.texture("t", np.int64(3), 1).extent.width) is int


def test_a_long_value_is_told_by_its_type() -> None:
    assert described("x" * 99) == "a str"
    assert described(A) == "an ndarray"
    assert described(None) == "None"
