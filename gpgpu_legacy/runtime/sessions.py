"""Plans prepared by doing nothing: every run is a session of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.executor import F32, Machine, Observer, Prepared, Result

Session = Callable[[Mapping[str, F32], Observer | None], Result]


class OneByOne(Prepared):
    """Runs a session for each run."""

    def __init__(self, plan: Plan, machine: Machine, session: Session) -> None:
        """session: given operands and observer, does everything."""
        super().__init__(plan, machine)
        self._run_session = session

    def _run(self, operands: Mapping[str, F32], observer: Observer | None) -> Result:
        return self._run_session(operands, observer)

    def _upload(self, operands: Mapping[str, F32]) -> None:
        raise NotImplementedError

    def _compute(self, observer: Observer | None) -> None:
        raise NotImplementedError

    def _read_back(self) -> dict[str, F32]:
        raise NotImplementedError

    def _release(self) -> None:
        pass
