"""Limits on plans from files: bounds that no real plan reaches, and no machine.

They keep a wrong or malicious file from taking unlimited time and memory. Plans made by Python are
not limited.
"""

from __future__ import annotations

from gpgpu_legacy.errors import PlanError, shape_in_words
from gpgpu_legacy.plan.expand import is_written_out, values_of
from gpgpu_legacy.plan.plan import ComputePass, Plan, Repeat, Step, Until, moves
from gpgpu_legacy.plan.textures import Texture, TextureKind

MOST_FILE_BYTES = 2**24
"""Bytes of the file. Most plans have some kilobytes, since loops are Repeats."""

MOST_PROGRAM_TEXT = 2**20
"""Characters of all programs together. The longest here, an unrolled product of 8192² matrices, has
700 000."""

MOST_KERNEL_TEXT = 2**16
"""Characters of all kernels together."""

LARGEST_SIDE = 32768
"""Of a texture's side, in texels: GL_MAX_TEXTURE_SIZE of an H100."""

MOST_BYTES = 2**39
"""Of all textures together, of all operands, and of all results: more than a GPU has."""

MOST_PASSES = 10**9
"""Passes that run, in all Repeats together: days on any machine."""

MOST_WRITTEN_OUT = 2**18
"""Passes that are kept one by one: those outside of Repeats, and all iterations of a Repeat that
has lists of numbers, moving rectangles or changing work groups."""

MOST_DEPTH = 8
"""Untils in one another."""

MOST_INVOCATIONS = 2**28
"""Invocations of one dispatch: one for each element of 16384² matrices. Counting them takes seconds
and up to 4 GiB."""

_ELEMENT_BYTES = 4
"""Bytes of a matrix element: float32."""


def check_limits(plan: Plan) -> None:
    """Raises PlanError, with its place, for the first part that exceeds a limit."""
    _Limits(plan).check()


class _Limits:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.run = self.written_out = 0

    def fail(self, problem: str, place: str) -> PlanError:
        return PlanError(problem, plan=self.plan.name, place=place)

    def check(self) -> None:
        for field in ("textures", "operands", "results"):
            total = 0
            for n, part in enumerate(getattr(self.plan, field)):
                place = f"{field}[{n}]"
                if isinstance(part, Texture):
                    place += ".extent"
                    self.sides(part, place)
                    total += part.size_bytes
                else:
                    total += _ELEMENT_BYTES * part.rows * part.columns
                if total > MOST_BYTES:
                    raise self.fail(
                        f"the {field} up to {part.name} have {total} bytes; at most {MOST_BYTES} "
                        "are allowed",
                        place,
                    )
        for n, step in enumerate(self.plan.steps):
            self.step(step, f"steps[{n}]")

    def sides(self, texture: Texture, place: str) -> None:
        extent = texture.extent
        sides = (extent.width, extent.height, extent.depth)
        if texture.kind is not TextureKind.BUFFER and max(sides) > LARGEST_SIDE:
            raise self.fail(
                f"texture {texture.name} is {shape_in_words(sides)} texels; a side has at most "
                f"{LARGEST_SIDE}",
                place,
            )

    def step(self, step: Step, place: str, times: int = 1) -> None:
        """times: how often it runs, in Untils."""
        if isinstance(step, Until):
            self.until(step, place, times)
            return
        repeats = isinstance(step, Repeat)
        count, body = (step.count, step.body) if isinstance(step, Repeat) else (1, (step,))
        self.run += times * count * len(body)
        if self.run > MOST_PASSES:
            raise self.fail(f"{self.run} passes run up to here; {MOST_PASSES} may run", place)
        if not repeats or any(map(is_written_out, body)):
            self.written_out += count * len(body)
        self.written_out += times - 1
        if self.written_out > MOST_WRITTEN_OUT:
            raise self.fail(
                f"{self.written_out} passes up to here are kept one by one; "
                f"{MOST_WRITTEN_OUT} may be",
                place,
            )
        for n, pass_ in enumerate(body):
            if isinstance(pass_, ComputePass):
                self.dispatch(pass_, count, f"{place}.body[{n}]" if repeats else place)

    def until(self, until: Until, place: str, times: int) -> None:
        """Its iterations are written out for readers that see a number of them."""
        cycles = -(-until.count // max(1, len(until.rounds)))
        for field, rounds, runs in (("rounds", until.rounds, cycles), ("end", until.end, 1)):
            for r, round_ in enumerate(rounds):
                for n, step in enumerate((*round_.body, *round_.restore)):
                    inner = f"{place}.{field}[{r}].body[{n}]"
                    self.step(step, inner, times * runs)

    def dispatch(self, pass_: ComputePass, count: int, place: str) -> None:
        """If the numbers of groups change, the pass is written out, so `count` is small."""
        seen = count if moves(pass_) else 1
        most_x, most_y = (max(values_of(groups, seen), default=0) for groups in pass_.groups)
        invocations = most_x * most_y * pass_.kernel.threads
        if invocations > MOST_INVOCATIONS:
            raise self.fail(
                f"{pass_.kernel.name} is dispatched with up to {invocations:g} invocations; "
                f"{MOST_INVOCATIONS} are the most allowed",
                f"{place}.groups",
            )
