"""Calls of Brook's kernels, as passes of a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NoReturn

from gpgpu_legacy.errors import InputError, described, hint, shape_in_words
from gpgpu_legacy.languages.brook.compile import (
    SAVED,
    Bound,
    CallShape,
    Compiled,
    Fold,
    PassLimits,
    compiled,
)
from gpgpu_legacy.languages.brook.kernels import BrookKernel, KernelParameter, ParameterRole
from gpgpu_legacy.languages.brook.places import StreamPlace
from gpgpu_legacy.languages.shading.graph import Fault
from gpgpu_legacy.pipeline.loops import LoopExpression
from gpgpu_legacy.pipeline.passes import PassBuilder
from gpgpu_legacy.pipeline.storage import Iterator, Stream
from gpgpu_legacy.pipeline.values import Texels
from gpgpu_legacy.plan.textures import Texture


@dataclass
class KernelCall:
    """A call of a kernel. arguments: by parameter, checked. limits: of a pass."""

    builder: PassBuilder
    kernel: BrookKernel
    arguments: dict[str, Any]
    limits: PassLimits

    def fail(self, problem: str) -> NoReturn:
        """Raise an InputError about the kernel."""
        raise InputError(f"{self.kernel.name} {problem}")

    def draw(self) -> None:
        """Draw the passes of a kernel that is not a reduction."""
        written = [
            self.arguments[p.name] for p in self.kernel.of(ParameterRole.OUT, ParameterRole.REDUCE)
        ]
        if not written:
            self.fail("writes no stream; give it an out parameter")
        for stream in written[1:]:
            if stream.place != written[0].place:
                self.fail(
                    f"writes {written[0].name} of {shape_in_words(written[0].extents)} and "
                    f"{stream.name} of {shape_in_words(stream.extents)}; give streams and domains "
                    "that are alike"
                )
        for p in self.kernel.of(ParameterRole.STREAM, ParameterRole.ITERATOR):
            self.fits(p, written[0].extents)
        self.passes(written[0].place, self.arguments)

    def fits(self, p: KernelParameter, extents: tuple[int, ...], *, larger: bool = False) -> None:
        """Check that an input has as many dimensions as the output, each in a whole ratio to it.

        extents: of the output. larger: whether the input may not be smaller.
        """
        given = self.arguments[p.name].extents
        if len(given) != len(extents) or any(
            max(a, b) % min(a, b) or (larger and a < b) for a, b in zip(given, extents, strict=True)
        ):
            self.fail(
                f"reads {p.name} of {shape_in_words(given)} for {shape_in_words(extents)}; give as "
                "many dimensions, each a multiple of the other"
            )

    def reduce(self) -> None:
        """Draw the passes of a reduction: along x first, so that the elements keep their order."""
        [p], [to] = self.kernel.of(ParameterRole.STREAM), self.kernel.of(ParameterRole.REDUCE)
        source, target = self.arguments[p.name], self.arguments[to.name]
        if prod(target.place.shape) == 1:
            source = _as_rectangle(source)
            target = replace(target, place=StreamPlace.whole((1,) * len(source.extents)))
            self.arguments[p.name] = source
        self.fits(p, target.extents, larger=True)
        extents, goal = [*source.place.extents], target.place.extents
        steps: list[tuple[Fold | None, tuple[int, ...]]] = []
        for axis, end in enumerate(goal):
            while (length := extents[axis] // end) > 1:
                extents[axis] = end * (length // 2)
                steps.append((Fold(axis, length), tuple(extents)))
        for fold, shape in steps or [(None, goal)]:
            into = target
            if shape != goal:
                into = self.builder.stream(self.builder.fresh(p.name), p.type, shape[::-1])
            self.passes(into.place, self.arguments | {p.name: source, to.name: into}, fold)
            source = into

    def passes(
        self, out: StreamPlace, arguments: Mapping[str, Any], fold: Fold | None = None
    ) -> None:
        """Draw the compiled passes.

        A stream that is also read has a spare texture. A whole stream is written to the spare one,
        and the two are swapped; a domain is read from a copy in the spare one.
        """
        builder = self.builder
        passes = self.compiled(out, arguments, fold)
        textures: dict[tuple[str, int], Texture] = {
            (name, number): texture
            for name, value in arguments.items()
            if isinstance(value, Stream)
            for number, texture in enumerate(value.textures)
        }
        results = dict.fromkeys(key for one in passes for key in one.results)
        written = [textures[key] for key in results if key in textures]
        size = written[0].extent
        for key in sorted(results.keys() - textures.keys()):
            name = builder.fresh(SAVED)
            textures[key] = builder.texture(name, size.width, size.height, format="rgba32f")
        read = {textures[key] for one in passes for key in one.units.values()}
        spares = {texture: builder.spare(texture) for texture in written if texture in read}
        beside = {key: spares.get(texture, texture) for key, texture in textures.items()}
        sources, targets = (textures, beside) if out.is_whole else (beside, textures)
        for texture, spare in () if out.is_whole else spares.items():
            builder.copy(texture, spare)
        for one in passes:
            builder.draw(
                one.program,
                {unit: sources[key] for unit, key in one.units.items()},
                into=[targets[key] for key in one.results],
                rect=out.rect,
                texcoords={n: _texels(axes, out.rect) for n, axes in one.sets.items()},
                local={n: _value(arguments[name], part) for n, (name, part) in one.locals.items()},
            )
        for texture, spare in spares.items() if out.is_whole else ():
            builder.swap(texture, spare)

    def compiled(
        self, out: StreamPlace, arguments: Mapping[str, Any], fold: Fold | None
    ) -> tuple[Compiled, ...]:
        """The programs. Numbers that the kernel must know, as for a loop, are compiled in."""

        def bound(known: Set[str]) -> tuple[Bound, ...]:
            return tuple(_bound(p, arguments[p.name], known) for p in self.kernel.parameters)

        for known in (self.kernel.loop_names, {p.name for p in self.kernel.parameters}):
            try:
                return compiled(CallShape(self.kernel, out, bound(known), self.limits, fold))
            except Fault as error:
                fault = error
        texts = self.kernel.kernels.unit.texts
        raise texts.error(str(fault), fault.at)


def call(
    builder: PassBuilder,
    kernel: BrookKernel,
    positional: Sequence[Any],
    named: Mapping[str, Any],
    limits: PassLimits,
) -> Stream | None:
    """Add the passes of a call. Returns the result of a reduction, by default a new stream.

    positional, named: the arguments. Raises InputError for any that do not fit.
    """
    known = {p.name: p for p in kernel.parameters}
    for name in named:
        if name not in known:
            raise InputError(f"{kernel.name} has no parameter {name}; {hint(name, known)}")
    wanted = [name for name in known if name not in named]
    result = next(
        (p for p in kernel.parameters if p.role is ParameterRole.REDUCE and kernel.reduces), None
    )
    if result and result.name in wanted and len(positional) == len(wanted) - 1:
        wanted.remove(result.name)
    if len(positional) != len(wanted):
        raise InputError(
            f"{kernel.name} has the parameters {', '.join(known)}, of which "
            f"{len(positional) + len(named)} are given; give all"
        )
    given = dict(zip(wanted, positional, strict=True)) | dict(named)
    arguments = {name: _argument(builder, kernel, known[name], v) for name, v in given.items()}
    calling = KernelCall(builder, kernel, arguments, limits)
    if not result:
        calling.draw()
        return None
    if result.name not in arguments:
        arguments[result.name] = builder.stream(builder.fresh(result.name), result.type, 1)
    calling.reduce()
    stream: Stream = arguments[result.name]
    return stream


def _argument(builder: PassBuilder, kernel: BrookKernel, p: KernelParameter, given: Any) -> Any:
    """An argument in the form that passes take; InputError if it does not fit the parameter."""

    def fail(wanted: str) -> NoReturn:
        what = f"stream {given.name}" if isinstance(given, Stream) else described(given)
        raise InputError(f"{kernel.name}: {p.name} is {what}; give {wanted}")

    def vector(value: Any) -> list[Any]:
        is_one = isinstance(value, str) or not hasattr(value, "__len__")
        numbers = [value] * p.type.components if is_one else [*value]
        if len(numbers) != p.type.components:
            fail(f"{p.type.components} numbers" if p.type.components > 1 else "one number")
        return numbers

    if p.role is ParameterRole.NUMBER:
        return fail("a number or a vector") if isinstance(given, Stream) else vector(given)
    if p.role is ParameterRole.ITERATOR:
        if not isinstance(given, Iterator):
            fail("an Iterator")
        if 1 < len(given.extents) < p.type.components:
            fail(f"one of {p.type.components} dimensions, not of {len(given.extents)}, or of one")
        return Iterator(given.extents, vector(given.start), vector(given.end))
    if not isinstance(given, Stream | Texture):
        fail(p.role.value)
    stream = builder.as_stream(given, p.type)
    if [n for _, n in stream.type.fields] != [n for _, n in p.type.fields]:
        fail(f"a stream of {p.type.name}, not of {stream.type.name}")
    if p.role is ParameterRole.GATHER and len(stream.extents) != p.rank:
        fail(f"a stream of {p.rank} dimensions, not of {len(stream.extents)}")
    return stream


def _bound(p: KernelParameter, given: Any, known: Set[str]) -> Bound:
    if isinstance(given, Iterator):
        return StreamPlace.whole(given.extents[::-1])
    if p.role is not ParameterRole.NUMBER:
        place: StreamPlace = given.place
        return place
    if p.name not in known or any(isinstance(n, LoopExpression) for n in given):
        return None
    return tuple(map(float, given))


def _texels(axes: tuple[tuple[float, float], ...], rect: tuple[int, int, int, int]) -> Texels:
    (x, across), (y, up) = axes
    return Texels(x=x - across / 2, y=y - up / 2, width=across * rect[2], height=up * rect[3])


def _as_rectangle(stream: Stream) -> Stream:
    """The stream as a rectangle of texels, if it is whole, needs translation and fills its texture.

    Any other stream is returned as it is.
    """
    extent, place = stream.textures[0].extent, stream.place
    shape = (extent.width, extent.height)
    if place.is_direct or not place.is_whole or prod(place.shape) != prod(shape):
        return stream
    return replace(stream, place=StreamPlace.whole(shape))


def _value(given: Any, part: str) -> Any:
    """The value of a number, or of an iterator's start or step."""
    if part != "step":
        return given.start if part else given
    sizes = given.extents[::-1]
    return [
        (end - start) / sizes[c if len(sizes) > 1 else 0]
        for c, (start, end) in enumerate(zip(given.start, given.end, strict=True))
    ]
