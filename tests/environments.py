"""Random texture environments, and their results by OpenGL 1.3, computed apart from the package.

The equations are those of tables 3.22 to 3.26 (section 3.8.13), in float64 and in any order of
operations. Textures and colours are bytes over 255, as everything was in 2001.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.api.pipeline import Pipeline

F64 = NDArray[np.float64]
SIDE = 8

_FUNCTIONS = {
    "REPLACE": 1, "MODULATE": 2, "ADD": 2, "ADD_SIGNED": 2, "SUBTRACT": 2, "INTERPOLATE": 3,
    "DOT3_RGB": 2, "DOT3_RGBA": 2,
}  # fmt: skip
_COLOURS = ("SRC_COLOR", "ONE_MINUS_SRC_COLOR")
_ALPHAS = ("SRC_ALPHA", "ONE_MINUS_SRC_ALPHA")


@dataclass(frozen=True)
class Combiner:
    """A function, its arguments as (source, operand), and a scale."""

    function: str
    arguments: tuple[tuple[str, str], ...]
    scale: int

    def __str__(self) -> str:
        arguments = ", ".join(f"{source}.{operand}" for source, operand in self.arguments)
        return f"{self.function}({arguments}) * {self.scale}"


@dataclass(frozen=True)
class Unit:
    """The environment of one texture unit, a line of the text."""

    number: int
    mode: str
    rgb: Combiner
    alpha: Combiner
    color: tuple[float, ...]

    def __str__(self) -> str:
        combined = f" RGB = {self.rgb} ALPHA = {self.alpha}" if self.mode == "COMBINE" else ""
        color = ", ".join(f"{c:.9g}" for c in self.color)
        return f"TEXTURE{self.number} 2D {self.mode}{combined} COLOR = ({color})"


@dataclass(frozen=True)
class Scene:
    """Environments, their textures by unit, and the primary colour."""

    units: tuple[Unit, ...]
    textures: Mapping[int, F64]
    primary: tuple[float, ...]

    @property
    def text(self) -> str:
        """The state as the package reads it."""
        return "\n".join(["!!texenv1.3", *map(str, self.units), ""])

    def pipeline(self, texel_format: str) -> Pipeline:
        """One draw in which each fragment has a texel of each texture."""
        p = Pipeline("environments")
        corners = [(0, 0), (1, 0), (1, 1), (0, 1)]
        textures = {
            n: p.input(f"T{n}", SIDE, SIDE, packing="image", format=texel_format, kind="2D")
            for n in self.textures
        }
        target = p.texture("C", SIDE, SIDE, format=texel_format, kind="2D")
        coordinates = dict.fromkeys(textures, corners)
        p.draw(self.text, textures, into=target, texcoords=coordinates, color=self.primary)
        p.output("C", target)
        return p

    def drawn(
        self, executor: str, texel_format: str = "rgba8", arithmetic: str = "fp32", **more: bool
    ) -> F64:
        """The colours that an executor draws."""
        inputs = {f"T{n}": t.astype(np.float32) for n, t in self.textures.items()}
        drawn = self.pipeline(texel_format).run(
            executor=executor, arithmetic=arithmetic, **more, **inputs
        )
        return drawn.outputs["C"].astype(np.float64)

    def expected(self, levels: int | None = None, *, dot3_scales: bool = False) -> F64:
        """The result by OpenGL 1.3, unrounded.

        levels: the number of levels that each unit's result has from 0 to 1. A half is then the
        even one of the two levels beside it; scaled, it is a whole number. dot3_scales: as in
        `departures.Driver`.
        """
        if dot3_scales:
            units = (
                replace(u, alpha=replace(u.alpha, scale=u.rgb.scale))
                if u.mode == "COMBINE" and u.rgb.function == "DOT3_RGBA"
                else u
                for u in self.units
            )
            return replace(self, units=tuple(units)).expected(levels)
        previous = np.broadcast_to(np.array(self.primary), (SIDE, SIDE, 4))
        for unit in self.units:
            previous = self._stage(unit, previous, 0.5 if levels is None else 128 / 255)
            if levels is not None:
                previous = np.rint(previous * levels) / levels
        return previous

    def _stage(self, unit: Unit, previous: F64, half: float) -> F64:
        texture, constant = self.textures[unit.number], np.array(unit.color)
        blended = previous * (1 - texture) + constant * texture
        opacity = texture[..., 3:]
        match unit.mode:
            case "REPLACE":
                return texture
            case "MODULATE":
                return previous * texture
            case "DECAL":
                decal = previous * (1 - opacity) + texture * opacity
                return np.concatenate([decal[..., :3], previous[..., 3:]], -1)
            case "BLEND":
                alpha = (previous * texture)[..., 3:]
                return np.concatenate([blended[..., :3], alpha], -1)
            case "ADD":
                alpha = (previous * texture)[..., 3:]
                return np.concatenate([np.minimum(previous + texture, 1)[..., :3], alpha], -1)
        sources = {f"TEXTURE{n}": t for n, t in self.textures.items()}
        sources |= {"TEXTURE": texture, "PREVIOUS": previous}
        sources |= {"CONSTANT": np.broadcast_to(constant, texture.shape)}
        sources |= {"PRIMARY_COLOR": np.broadcast_to(np.array(self.primary), texture.shape)}
        rgb, alpha = _combined(unit.rgb, sources, half), _combined(unit.alpha, sources, half)
        if unit.rgb.function == "DOT3_RGBA":
            alpha = rgb / unit.rgb.scale * unit.alpha.scale
        return np.clip(np.concatenate([rgb[..., :3], alpha[..., 3:]], -1), 0, 1)


def _combined(combiner: Combiner, sources: Mapping[str, F64], half: float) -> F64:
    values = []
    for source, operand in combiner.arguments:
        value = sources[source]
        if operand in _ALPHAS:
            value = np.repeat(value[..., 3:], 4, -1)
        values.append(1 - value if operand.startswith("ONE_MINUS") else value)
    a, b, c = (*values, *values, *values)[:3]
    result = {
        "REPLACE": lambda: a,
        "MODULATE": lambda: a * b,
        "ADD": lambda: a + b,
        "ADD_SIGNED": lambda: a + b - (half if combiner.scale == 1 else 0.5),
        "SUBTRACT": lambda: a - b,
        "INTERPOLATE": lambda: a * c + b * (1 - c),
        "DOT3_RGB": lambda: _dot(a, b),
        "DOT3_RGBA": lambda: _dot(a, b),
    }[combiner.function]()
    return combiner.scale * result


def _dot(a: F64, b: F64) -> F64:
    total = 4 * ((a - 0.5) * (b - 0.5))[..., :3].sum(-1, keepdims=True)
    return np.repeat(total, 4, -1)


def random_scene(random: Random) -> Scene:
    """One to four units with anything that OpenGL 1.3 and the crossbar allow."""
    numbers = sorted(random.sample(range(4), random.randint(1, 4)))
    enabled = [f"TEXTURE{n}" for n in numbers]

    def color() -> tuple[float, ...]:
        return tuple(random.randrange(256) / 255 for _ in range(4))

    def combiner(operands: tuple[str, ...], functions: list[str]) -> Combiner:
        function = random.choice(functions)
        known = ["TEXTURE", "CONSTANT", "PRIMARY_COLOR", "PREVIOUS", *enabled]
        arguments = [
            (random.choice(known), random.choice(operands)) for _ in range(_FUNCTIONS[function])
        ]
        return Combiner(function, tuple(arguments), random.choice((1, 1, 2, 4)))

    modes = ["REPLACE", "MODULATE", "DECAL", "BLEND", "ADD", *["COMBINE"] * 5]
    plain = [f for f in _FUNCTIONS if not f.startswith("DOT3")]
    units = tuple(
        Unit(
            number,
            random.choice(modes),
            combiner((*_COLOURS, *_ALPHAS), list(_FUNCTIONS)),
            combiner(_ALPHAS, plain),
            color(),
        )
        for number in numbers
    )
    rng = np.random.default_rng(random.randrange(2**32))
    textures = {n: rng.integers(0, 256, (SIDE, SIDE, 4)) / 255 for n in numbers}
    return Scene(units, textures, color())


def differing_bytes(a: F64, b: F64, exact: F64) -> int:
    """The number of bytes that differ where the exact result is not half way between two.

    A tie may give either byte (see `wrong_bytes`). ADD_SIGNED of bytes gives only ties.
    """
    away = np.abs(exact * 255 % 1 - 0.5) > 1e-3
    return int((away & (np.rint(a * 255) != np.rint(b * 255))).sum())


def wrong_bytes(a: F64, exact: F64, rounded: int = 1) -> int:
    """The number of bytes that are not next to the exact result, a sum of `rounded` terms.

    OpenGL 4.3, section 2.3.4.2: a colour becomes one of the two fixed-point numbers "closest to the
    floating-point value r (where rounding to nearest is preferred)". An H100 takes the lower one
    now and then.
    """
    return int((np.abs(np.rint(a * 255) - exact * 255) > rounded + 1e-3).sum())
