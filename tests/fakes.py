"""Executors for tests that compute nothing: the results of runs and their times are made up."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpgpu_legacy.plan.plan import Pass, Plan
from gpgpu_legacy.runtime.exactness import DataPath
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.machine import ALL_PASSES, Capabilities, Machine
from gpgpu_legacy.runtime.prepared import F32, Observer, Prepared, RunResult


@dataclass
class Clock:
    """A clock that stands still until a test moves it on."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


class FakePrepared(Prepared):
    """A prepared plan that asks its executor for the result of each run."""

    def __init__(self, fake: FakeExecutor, plan: Plan, machine: Machine) -> None:
        super().__init__(plan, machine)
        self.fake = fake
        fake.prepared.append(self)

    @property
    def closed(self) -> bool:
        return self._closed

    def _run(
        self, operands: Mapping[str, F32], observer: Observer | None, resume: bool, times: int
    ) -> RunResult:
        self.fake.observed += observer is not None
        return self.fake.result(self.plan, operands, self.machine)

    def _upload(self, operands: Mapping[str, F32], *, resume: bool) -> None:
        raise AssertionError

    def _work(self, part: Plan) -> None:
        raise AssertionError

    def _observed_work(self, part: Plan) -> Iterator[Pass]:
        raise AssertionError

    def _texels(self, name: str) -> F32:
        raise AssertionError

    def _read_back(self) -> dict[str, F32]:
        raise AssertionError

    def _release(self) -> None:
        pass


class FakeExecutor(Executor):
    """An executor that computes nothing; a subclass defines the result of a run.

    prepared: the plans that it prepared, in order. observed: how many runs had an observer.
    """

    name = "fake"
    summary = "a fake"
    capabilities = Capabilities(ALL_PASSES)

    def __init__(self) -> None:
        self.prepared: list[FakePrepared] = []
        self.observed = 0

    def device(self) -> str:
        return f"device of {self.name}"

    def is_hardware(self) -> bool:
        return False

    def flushed_paths(self) -> frozenset[DataPath]:
        return frozenset()

    @abstractmethod
    def result(self, plan: Plan, operands: Mapping[str, F32], machine: Machine) -> RunResult:
        """The result of a run."""

    def memory_bytes(self, plan: Plan) -> int:
        return 0

    def _prepare(self, plan: Plan, machine: Machine) -> Prepared:
        return FakePrepared(self, plan, machine)
