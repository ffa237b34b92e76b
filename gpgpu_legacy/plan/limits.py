"""Limits on plans from files, which no real plan and no machine reaches.

They keep a wrong or malicious file from taking unlimited time and memory. Plans made by Python are
not limited.
"""

from __future__ import annotations

from gpgpu_legacy.errors import shape_in_words
from gpgpu_legacy.plan.expand import is_written_out, values_of
from gpgpu_legacy.plan.plan import ComputePass, Plan, Repeat, Step, Until, moves
from gpgpu_legacy.plan.textures import Texture, TextureKind
from gpgpu_legacy.plan.validate import Validator

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


def check_limits(plan: Plan) -> None:
    """Raise PlanError, with the place, for the first part that exceeds a limit."""
    _Limits(plan.name).check(plan)


class _Limits(Validator):
    """The check of one plan.

    run, written_out: the numbers of passes up to the checked part: of all, and of those kept one by
    one.
    """

    run = written_out = 0

    def check(self, plan: Plan) -> None:
        for field in ("textures", "operands", "results"):
            total = 0
            for part in self.each(field, getattr(plan, field)):
                if isinstance(part, Texture):
                    self.place += ".extent"
                    self.sides(part)
                total += part.size_bytes
                if total > MOST_BYTES:
                    self.fail(
                        f"the {field} up to {part.name} have {total} bytes; at most {MOST_BYTES} "
                        "are allowed"
                    )
        for step in self.each("steps", plan.steps):
            self.passes(step, 1)

    def sides(self, texture: Texture) -> None:
        extent = texture.extent
        sides = (extent.width, extent.height, extent.depth)
        if texture.kind is not TextureKind.BUFFER and max(sides) > LARGEST_SIDE:
            self.fail(
                f"texture {texture.name} is {shape_in_words(sides)} texels; a side has at most "
                f"{LARGEST_SIDE}"
            )

    def passes(self, step: Step, times: int) -> None:
        """Check the passes of a step.

        times: how often the Untils around it run it; some readers see these iterations written out.
        """
        if isinstance(step, Until):
            cycles = -(-step.count // max(1, len(step.rounds)))
            for field, rounds, runs in (("rounds", step.rounds, cycles), ("end", step.end, 1)):
                for round_ in self.each(field, rounds):
                    for inner in self.each("body", (*round_.body, *round_.restore)):
                        self.passes(inner, times * runs)
            return
        count, body = (step.count, step.body) if isinstance(step, Repeat) else (1, (step,))
        self.run += times * count * len(body)
        if self.run > MOST_PASSES:
            self.fail(f"{self.run} passes run up to here; {MOST_PASSES} may run")
        if not isinstance(step, Repeat) or any(map(is_written_out, body)):
            self.written_out += count * len(body)
        self.written_out += times - 1
        if self.written_out > MOST_WRITTEN_OUT:
            self.fail(
                f"{self.written_out} passes up to here are kept one by one; "
                f"{MOST_WRITTEN_OUT} may be"
            )
        for pass_ in self.each("body", body) if isinstance(step, Repeat) else body:
            if isinstance(pass_, ComputePass):
                self.dispatch(pass_, count)

    def dispatch(self, pass_: ComputePass, count: int) -> None:
        """Check a dispatch. If its work groups change, it is written out, so `count` is small."""
        seen = count if moves(pass_) else 1
        most_x, most_y = (max(values_of(groups, seen), default=0) for groups in pass_.groups)
        invocations = most_x * most_y * pass_.kernel.threads
        if invocations > MOST_INVOCATIONS:
            self.place += ".groups"
            self.fail(
                f"{pass_.kernel.name} is dispatched with up to {invocations:g} invocations; "
                f"{MOST_INVOCATIONS} are the most allowed"
            )
