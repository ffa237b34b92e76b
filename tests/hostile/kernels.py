"""Random kernels that reach anywhere, and what a child process makes of them.

As a script it reads seeds from its arguments, runs the kernel of each on numpy and on jit, and
prints a line for each: what came of it. A process of its own, for native code that reaches outside
of its arrays may end it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.interp.kernel import Array, KernelMachine, WorkGroups
from gpgpu_legacy.isa.expressions import Element
from gpgpu_legacy.isa.kernel import numbered
from gpgpu_legacy.languages.glsl.kernels import parse_kernel
from gpgpu_legacy.lower.kernels.bounds import unproven
from gpgpu_legacy.plan.plan import BufferBinding, ComputePass, Plan, UniformValue, constant_groups
from gpgpu_legacy.plan.textures import (
    ONE_PER_TEXEL,
    R32F,
    Extent,
    Matrix,
    Rect,
    Region,
    Texture,
    TextureKind,
    Transfer,
)

LENGTH = 96
NAMES = ("I", "O", "W")
_SIZES = [(8, 4), (4, 8), (1, 1), (8, 1), (1, 4), (5, 3)]
_LITERALS = [0, 1, 2, 3, 5, 7, 8, 31, 32, 95, 96, 97, 2**30, 2**31 - 1]


def dispatch(seed: int) -> ComputePass:
    """The dispatch of that number: the same each time."""
    random = Random(f"kernel {seed}")
    across, up = random.choice(_SIZES)
    groups = (random.choice((1, 2, 3)), random.choice((1, 2)))
    text = _Writer(random, across, up, groups[0]).kernel()
    values = {
        "n": random.choice((0, 1, 4, 9, 10, 96, 100, -1, 2**31 - 1)),
        "u": random.choice((0, 1, 3, 8, 96, 2**31, 2**32 - 1)),
    }
    return ComputePass(
        parse_kernel(text, f"random-{seed}.comp"),
        tuple(BufferBinding(binding, name) for binding, name in enumerate(NAMES)),
        tuple(UniformValue(name, value) for name, value in values.items()),
        groups,
    )


@dataclass
class _Writer:
    """Writes a kernel in which all stores of several invocations to one element are alike.

    So its results do not depend on the order of invocations.
    """

    random: Random
    across: int
    up: int
    groups_x: int
    loops: int = 0

    def kernel(self) -> str:
        self.ints = ["tx", "ty", "gx", "at", "n"]
        self.uints = ["ux", "u"]
        self.assignable: list[str] = []
        body = "\n".join(self.top_level() for _ in range(self.random.randint(2, 6)))
        return f"""#version 430 core
layout(local_size_x = {self.across}, local_size_y = {self.up}) in;
layout(std430, binding = 0) readonly buffer buffer_I {{ float I[]; }};
layout(std430, binding = 1) writeonly buffer buffer_O {{ float O[]; }};
layout(std430, binding = 2) writeonly buffer buffer_W {{ float W[]; }};
uniform int n; uniform uint u;
shared float S[{self.up}][{self.across}]; shared int T[16];
void main()
{{
int tx = int(gl_LocalInvocationID.x), ty = int(gl_LocalInvocationID.y);
int gx = int(gl_GlobalInvocationID.x);
uint ux = gl_GlobalInvocationID.x;
int group = int(gl_WorkGroupID.y) * {self.groups_x} + int(gl_WorkGroupID.x);
int at = group * {self.across * self.up} + ty * {self.across} + tx;
float r = 0.5;
{body}
if (at < {LENGTH}) O[at] = r;
}}
"""

    def top_level(self) -> str:
        if self.random.random() < 0.2:
            one = self.random.choice(("1.0", "1.0 + float(at) * 0.0"))
            store = f"S[{self.index()}][{self.index()}] = {one};"
            if self.random.random() < 0.5:
                store = f"T[{self.index()}] = {self.random.choice(('7', '7 + tx - tx'))};"
            load = self.random.choice((f"S[{self.index()}][{self.index()}]", "float(T[ty])"))
            return f"barrier(); {self.guarded(store)} barrier(); r += {load};"
        return self.statement(2)

    def statement(self, depth: int) -> str:  # noqa: PLR0911 - a kind each
        kind = self.random.randrange(9)
        if kind == 0 and depth:
            return self.branch(depth)
        if kind in (1, 2) and depth:
            return self.loop(depth)
        if kind == 3 and depth == 2:
            self.loops += 1
            name = f"v{self.loops}"
            text = f"int {name} = {self.number(2)};"
            self.ints.append(name)
            self.assignable.append(name)
            return text
        if kind == 4 and self.assignable:
            name = self.random.choice(self.assignable)
            return f"{name} {self.random.choice(('=', '+=', '-='))} {self.number(1)};"
        if kind == 5:
            return self.guarded(f"W[{self.index()}] = 1.0;")
        if kind == 6:
            return f"r += {self.condition()} ? I[{self.index()}] : 0.25;"
        if kind == 7:
            return f"if ({self.condition()} && I[{self.index()}] > 0.5) r += 1.0;"
        return self.guarded(f"r += I[{self.index()}];")

    def guarded(self, statement: str) -> str:
        return f"if ({self.condition()}) {statement}" if self.random.random() < 0.4 else statement

    def branch(self, depth: int) -> str:
        then, otherwise = self.block(depth - 1), self.block(depth - 1)
        end = f" else {{ {otherwise} }}" if self.random.random() < 0.5 else ""
        return f"if ({self.condition()}) {{ {then} }}{end}"

    def block(self, depth: int) -> str:
        return " ".join(self.statement(depth) for _ in range(self.random.randint(1, 2)))

    def loop(self, depth: int) -> str:
        self.loops += 1
        name, count = f"k{self.loops}", f"c{self.loops}"
        start, end, step = self.number(1), self.number(1), self.random.choice((1, 1, 2, 4, 8, 33))
        up = self.random.random() < 0.75
        if self.random.random() < 0.6:
            start, end = self.random.choice((("0", "n"), ("0", "9"), ("tx", "96"), ("0", "at")))
            start, end = (start, end) if up else (end, start)
        test = self.random.choice(("<", "<=") if up else (">", ">="))
        moves = f"{name} {'+' if up else '-'}= {step}"
        kind = self.random.choice(("int", "int", "uint"))
        if kind == "uint":
            start, end = f"uint({start})", f"uint({end})"
        (self.ints if kind == "int" else self.uints).append(name)
        self.ints.append(count)
        inside = self.block(depth - 1)
        if self.random.random() < 0.1:
            inside += f" {name} += {'1' if kind == 'int' else '1u'};"
        (self.ints if kind == "int" else self.uints).remove(name)
        self.ints.remove(count)
        limit = f" && {count} < {self.random.choice((3, 7, 12))}"
        return (
            f"{{ int {count} = 0; for ({kind} {name} = {start}; {name} {test} {end}{limit}; "
            f"{moves}, ++{count}) {{ {inside} }} }}"
        )

    def condition(self) -> str:
        random = self.random.random()
        if random < 0.15:
            return f"({self.condition()} && {self.condition()})"
        if random < 0.25:
            return f"({self.condition()} || {self.condition()})"
        if random < 0.3:
            return f"!({self.condition()})"
        test = self.random.choice(("<", "<", "<=", ">", ">=", "==", "!="))
        left, right = self.number(1), self.random.choice(("n", "96", "8", self.number(1)))
        if random < 0.45:
            return f"(uint({left}) {test} uint({right}))"
        return f"({left} {test} {right})"

    def index(self) -> str:
        """Mostly inside, so that not every kernel ends at its first access."""
        inside = ("tx", "ty", "at % 96", "(at * 7) % 96", "int(ux % 8u)", "7 - tx", "at / 3")
        if self.random.random() < 0.6:
            name = self.random.choice(self.ints)
            return self.random.choice((*inside, name, f"(({name}) % 8 + 8) % 8"))
        return self.number(2)

    def number(self, depth: int) -> str:  # noqa: PLR0911 - a kind each
        """An int, of any size."""
        kind = self.random.randrange(10) if depth else self.random.randrange(3)
        if kind < 2:
            return self.random.choice(self.ints)
        if kind == 2:
            return str(self.random.choice(_LITERALS))
        if kind < 6:
            operator = self.random.choice(("+", "+", "-", "*", "/", "%"))
            return f"({self.number(depth - 1)} {operator} {self.number(depth - 1)})"
        if kind == 6:
            operator = self.random.choice(("+", "-", "*", "/", "%"))
            name = self.random.choice(self.uints)
            return f"int({name} {operator} uint({self.number(depth - 1)}))"
        if kind == 7:
            return f"({self.condition()} ? {self.number(depth - 1)} : {self.number(depth - 1)})"
        if kind == 8:
            return f"int(I[{self.random.choice(('tx', 'ty', 'at % 96'))}] * 10.0)"
        return f"(-{self.number(depth - 1)})"


# What is made of them ----------------------------------------------------------------------------


def data(seed: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """The contents of I, with some numbers that no integer has."""
    values = np.random.default_rng(seed).uniform(-3, 12, (1, LENGTH)).astype(np.float32)
    values[0, :3] = np.random.default_rng(seed + 1).choice(
        np.float32([1.0, np.nan, np.inf, -np.inf, 3e9, -3e9, 1e30]), 3
    )
    return values


class _Watching(KernelMachine):
    """Notes which accesses are outside of their arrays, and carries on at index 0."""

    outside: set[int]

    def flat_index(self, element: Element) -> Array:
        flat = super().flat_index(element)
        wrong = (flat < 0) | (flat >= self.length(element))
        if (wrong if self.mask is None else wrong & self.mask).any():
            self.outside.add(element.number)
        return np.where(wrong, 0, flat)


def wrongly_proven(seed: int) -> tuple[set[int], int, int]:
    """Accesses that are outside although proven inside; how many are outside, how many proven."""
    pass_ = dispatch(seed)
    buffers = {name: np.zeros(LENGTH, np.float32) for name in NAMES}
    buffers["I"] = data(seed)[0]
    grid = WorkGroups((0, 0), constant_groups(pass_.groups))
    machine = _Watching(replace(pass_, kernel=numbered(pass_.kernel)), grid, buffers)
    machine.outside = set()
    machine.run()
    open_ = unproven(pass_, dict.fromkeys(NAMES, LENGTH))
    return machine.outside - open_, len(machine.outside), len(open_)


def plan(seed: int) -> Plan:
    """The dispatch as a plan: I is given, O and W are read back."""
    zero = (0.0, 0.0, 0.0, 0.0)
    textures = tuple(
        Texture(name, TextureKind.BUFFER, Extent(LENGTH, 1), R32F, zero) for name in NAMES
    )
    whole, rect = Region(0, 0, 1, LENGTH), Rect(0, 0, LENGTH, 1)
    return Plan(
        f"random-{seed}",
        (Matrix("I", 1, LENGTH),),
        (Matrix("O", 1, LENGTH), Matrix("W", 1, LENGTH)),
        textures,
        (Transfer("I", whole, "I", rect, ONE_PER_TEXEL),),
        (dispatch(seed),),
        tuple(Transfer(name, whole, name, rect, ONE_PER_TEXEL) for name in "OW"),
    )


def outcome(seed: int, executor: str) -> str | dict[str, np.ndarray]:  # type: ignore[type-arg]
    """The outputs of a run, or its error up to the place."""
    from gpgpu_legacy.runtime.executor import find_executor

    try:
        return find_executor(executor).run(plan(seed), {"I": data(seed)}).outputs
    except PlanError as error:
        message = str(error)
        assert "\n" not in message and "reaches outside of" in message, message
        return f"random-{seed}.comp"


def compared(seed: int) -> str:
    """`same`, `refused` by both, or what differs."""
    theirs, ours = outcome(seed, "numpy"), outcome(seed, "jit")
    if isinstance(theirs, str) or isinstance(ours, str):
        alike = isinstance(theirs, str) and isinstance(ours, str)
        return "refused" if alike else f"numpy: {theirs!s:.60} jit: {ours!s:.60}"
    for name in theirs:
        np.testing.assert_array_equal(ours[name].view(np.uint32), theirs[name].view(np.uint32))
    return "same"


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(argument, compared(int(argument)), flush=True)
