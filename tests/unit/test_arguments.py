"""What a caller gives wrong in practice, and what is right in more than one form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpgpu_legacy import Machine, Pipeline
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.api.matmul import matmul
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import find_arithmetic

A = np.ones((2, 2))


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"method": "no-such"}, "there is no algorithm no-such; choose from"),
        ({"executor": "gpu"}, "there is no executor gpu; choose from auto"),
        ({"block": 8 / 2}, "block is 4.0; it must be an integer"),
        ({"blok": 2}, "has no parameter blok; did you mean block?"),
        ({"arithmetic": "fp8"}, "arithmetic is 'fp8'; choose from fp32"),
        ({"c": [["C"]]}, "C holds text, not real numbers; give a matrix"),
        ({"c": np.ones((2, 3))}, "input C0"),
    ],
)
def test_a_product_names_what_does_not_fit(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        matmul(A, A, **keywords)
    assert message in str(raised.value)


def test_a_machine_is_taken_whole_or_by_its_fields() -> None:
    """Half of the least float16 is kept by float32 alone."""
    how: dict[str, Any] = {"method": "hall-carr-hart-single", "executor": "numpy", "alpha": 2.0}
    half = np.diag([2.0**-26] * 2)
    for machine in (
        {"machine": Machine(arithmetic=find_arithmetic("fp16"))},
        {"arithmetic": "fp16"},
    ):
        assert not matmul(half, A, **how, **machine).any()
    assert (matmul(half, A, **how) == 2.0**-25).all()


def test_numbers_of_numpy_are_numbers() -> None:
    multi = find_product("hall-carr-hart-multi")
    plan = multi.plan(n=np.int64(3), block=np.int64(2), alpha=np.float32(2))
    assert type(plan.results[0].rows) is int
    p = Pipeline("p")
    assert type(p.texture("t", np.int64(3), 1).extent.width) is int
