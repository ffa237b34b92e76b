"""The seconds that a measurement may take, with everything that belongs to it."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from gpgpu_legacy.errors import InputError

Clock = Callable[[], float]
"""Gives the time, in seconds since some moment."""


GRACE_S = 1.0
"""Seconds beyond a budget that are not reported: started work is finished, closed and written."""


class BudgetSpentError(InputError):
    """Raised in the middle of work that is useless in part, such as a simulation."""


class Budget:
    """Seconds that start when the budget is created.

    Everything counts: preparing, uploading, computing, checking and closing.
    """

    def __init__(self, seconds: float, clock: Clock = perf_counter) -> None:
        """seconds: 0 or more; infinity means no limit. Raises InputError for anything else."""
        if not seconds >= 0.0:
            raise InputError(f"the budget is {seconds}; give a number of seconds, 0 or more")
        self.seconds, self.clock = seconds, clock
        self._started = clock()

    @property
    def spent_s(self) -> float:
        """Seconds since the budget was created."""
        return self.clock() - self._started

    @property
    def left_s(self) -> float:
        """Seconds until it ends; negative once it has ended."""
        return self.seconds - self.spent_s

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return self.left_s <= 0.0

    @property
    def overrun(self) -> str | None:
        """A line that says by how much it was exceeded; None if by no more than GRACE_S."""
        over_s = -self.left_s
        if over_s <= GRACE_S:
            return None
        return (
            f"the budget of {self.seconds:g} s was exceeded by {over_s:.1f} s; a step that has "
            "begun cannot always be stopped"
        )

    def refusal(self, expected_s: float = 0.0) -> str | None:
        """Why a run of an expected length in seconds does not start; None if it may."""
        left_s = self.left_s
        if left_s <= 0.0:
            return "the budget was spent"
        if expected_s > left_s:
            return (
                f"a run would take up to {expected_s:.3g} s, and {left_s:.3g} s of the budget "
                "were left"
            )
        return None

    def share(self, parts: int) -> Budget:
        """An equal part of the time that is left, for the first of a number of tasks."""
        return Budget(max(0.0, self.left_s) / parts, self.clock)

    def until_spent(
        self, progress: Callable[[float], object] = lambda _: None
    ) -> Callable[[float], None]:
        """A progress function that raises BudgetSpentError if no time is left before the end.

        progress: called with the fraction done, too.
        """

        def report(done: float) -> None:
            if done < 1.0 and self.is_over:
                raise BudgetSpentError("the budget was spent")
            progress(done)

        return report
