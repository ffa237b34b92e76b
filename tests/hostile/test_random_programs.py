"""A share of the random programs of campaign.py, which `make differential` tries by thousands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from unittest.mock import patch

import campaign
import numpy as np
import pytest
from attacks import ATTACK
from campaign import checked
from departures import driver_of
from drawing import F32
from random_programs import Batch, random_batch

from gpgpu_legacy.errors import ExecutorUnavailableError
from gpgpu_legacy.isa import execute
from gpgpu_legacy.isa.opcodes import OPCODES
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.registry import find_executor


def works(name: str) -> bool:
    """Whether the executor is here, on a driver that keeps the order of operations."""
    try:
        executor = find_executor(name)
    except ExecutorUnavailableError:
        return False
    return not name.startswith("gl-") or driver_of(executor).keeps_order


def test_every_executor_computes_what_numpy_does() -> None:
    names = [name for name in campaign.EXECUTORS if works(name)]
    for number in range(ATTACK.count(3, 120)):
        result = checked(random_batch(f"hostile {ATTACK.seed}-{number}"), names)
        assert not result.differences, "\n".join(map(str, result.differences))


# What the campaign would say of an executor that is wrong --------------------------------------


def drawn_with(mnemonic: str, evaluate: Callable[..., F32]) -> Callable[[Batch, Executor], object]:
    """What draws on jit as a machine does that takes an opcode for something else."""
    drawn = campaign.drawn
    wrong = {**OPCODES, mnemonic: replace(OPCODES[mnemonic], evaluate=evaluate)}

    def draw(batch: Batch, executor: Executor) -> object:
        if executor.name != "jit":
            return drawn(batch, executor)
        with patch.object(execute, "OPCODES", wrong):
            return drawn(batch, find_executor("numpy"))

    return draw


def test_a_wrong_opcode_is_found_and_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "drawn", drawn_with("FLR", np.ceil))
    found = [d for n in range(8) for d in checked(random_batch(f"wrong {n}"), ["jit"]).differences]
    assert found
    for difference in found:
        assert "FLR" in difference.text
        assert difference.found != difference.expected
