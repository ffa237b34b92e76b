"""The streams of a running program, and the calls of its kernels, which run as small plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Iterator as Iterating
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isinf, isnan, prod
from struct import pack
from typing import Any
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.api.host.memory import HostError, ProgramMemory
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.languages.brook.kernels import BrookKernel, ElementType, Kernels, ParameterRole
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.storage import Iterator, Stream
from gpgpu_legacy.plan.plan import Plan

MOST_NUMBERS = 1 << 26
"""The most numbers that the streams of a program hold together."""

MOST_PLANS = 256
"""The most plans of calls that are kept."""

WRITTEN = (ParameterRole.OUT, ParameterRole.REDUCE)


@dataclass(eq=False)
class StreamData:
    """A stream's content: `values` has its extents, then an axis of components."""

    name: str
    type: ElementType
    values: F32

    @property
    def extents(self) -> tuple[int, ...]:
        """The elements along each dimension, the outermost first."""
        return self.values.shape[:-1]


@frozen
class StreamShape:
    """A stream's content in the plan of a call, without its values."""

    name: str
    type: ElementType
    extents: tuple[int, ...]


@dataclass(unsafe_hash=True)
class View:
    """A stream or a domain of it, from start up to end, x first. ends: those of an iterator."""

    data: Any  # StreamData, or StreamShape in the plan of a call
    start: tuple[int, ...] = ()
    end: tuple[int, ...] = ()
    ends: tuple[Any, ...] = ()

    @property
    def part(self) -> F32:
        """The values in the domain, as a view that can be written."""
        part: F32 = self.data.values[tuple(map(slice, self.start, self.end))[::-1]]
        return part

    @property
    def rows(self) -> F32:
        """A copy of the values in the domain, a row for each element."""
        return self.part.reshape(-1, self.data.type.components).copy()

    def put(self, values: F32) -> None:
        """Write all of the domain."""
        self.part[...] = values.reshape(self.part.shape)


Recorder = Callable[[BrookKernel, Sequence[Any]], Callable[[], None]]
"""Called with each kernel call before it runs; returns a function to call when it has run."""


@dataclass(eq=False)
class Streams:
    """The streams of one program. run: executes a plan on inputs by name; returns its outputs."""

    memory: ProgramMemory
    kernels: Kernels
    run: Callable[[Plan, dict[str, F32]], dict[str, F32]]
    out: Callable[[int, bytes], object]
    recorder: Recorder | None = None
    calls = 0
    left = MOST_NUMBERS

    def __post_init__(self) -> None:
        self._plan = lru_cache(MOST_PLANS)(_plan)

    def names(self) -> dict[str, Any]:
        """The functions that generated code calls."""
        return {
            "stream": self.stream, "iterator": self.iterator, "kernel": self.kernel,
            "stream_domain": self.domain, "stream_copy": self.copy,
            "streamRead_": self.read, "streamWrite_": self.write, "streamSwap_": self.swap,
            "streamPrint_": self.show, "streamSize_": self.size,
            "streamGatherOp_": self.gather, "streamScatterOp_": self.scatter,
        }  # fmt: skip

    def stream(self, name: str, kind: str, extents: tuple[int, ...]) -> View:
        """A new stream, of zeros."""
        element = self.kernels.type(kind)
        if min(extents, default=0) < 1:
            raise HostError(f"stream {name} has an extent below 1")
        shape = *extents, element.components
        if prod(shape) > self.left:
            raise HostError(f"the streams of a program hold {MOST_NUMBERS} numbers at most")
        data = StreamData(name, element, np.zeros(shape, np.float32))
        self._take(prod(shape))
        finalize(data, self._take, -prod(shape))
        return View(data)

    def _take(self, numbers: int) -> None:
        self.left -= numbers

    def iterator(self, kind: str, extents: tuple[int, ...], *ends: Any) -> View:
        """Numbers in equal steps, from one end up to the other, which is left out."""
        view = self.stream("iterator", kind, extents)
        if len(extents) not in {1, view.data.type.components}:
            raise HostError(f"an iterator of {kind} has {len(extents)} dimensions")
        places = np.indices(extents, np.float32).reshape(len(extents), -1)[::-1]
        start, end = (np.array(one, np.float32, ndmin=1) for one in ends)
        step: Any = (end - start) / np.array(extents[::-1], np.float32)
        view.put(start + step * places.T)
        return View(view.data, ends=ends)

    def domain(self, view: View, start: Any, end: Any) -> View:
        """The elements from start up to end, x first."""
        first, last = (one if isinstance(one, tuple) else (one,) for one in (start, end))
        sizes = view.data.extents[::-1]
        if not len(first) == len(last) == len(sizes) or not all(
            0 <= a <= b <= n for a, b, n in zip(first, last, sizes, strict=True)
        ):
            raise HostError(f"the domain from {start} to {end} is not in a stream of {sizes}")
        return View(view.data, first, last)

    def copy(self, to: View, source: View) -> View:
        """Assign one stream to another."""
        to.put(source.part)
        return to

    def swap(self, a: View, b: View) -> None:
        """Exchange the contents of two streams."""
        a.data, b.data = b.data, a.data

    def read(self, view: View, address: int) -> None:
        """streamRead: from memory to a stream."""
        view.put(np.frombuffer(self.memory.span(address, view.part.nbytes), np.float32))

    def write(self, view: View, address: int) -> None:
        """streamWrite: from a stream to memory."""
        self.memory.write(view.part.tobytes(), address)

    def size(self, view: View) -> bytes:
        """streamSize: the extents, as a float4."""
        return pack("=4f", *(*view.part.shape[:-1], 0, 0, 0)[:4])

    def show(self, view: View) -> None:
        """streamPrint, as Brook's runtime prints."""
        for number, row in enumerate(view.rows, 1):
            shown = ", ".join(map(_shown, row.tolist()))
            text = f"{{{shown}}}" if len(row) > 1 else f"{shown} "
            text += "\n" * (number % view.part.shape[-2] == 0)
            self.out(1, text.encode())

    # Gather and scatter operations --------------------------------------------------------------

    def gather(self, to: View, index: View, source: View, operation: str) -> None:
        """Set `to` to source[index]; the operation then changes the source, element by element."""
        addresses = self._addresses(index, source)
        values, given = source.rows, to.rows
        for numbers in scatter_rounds(addresses):
            where = addresses[numbers]
            given[numbers] = values[where]
            if operation != "STREAM_GATHER_FETCH":
                values[where] = self._once(operation, source, given[numbers], given[numbers])
        source.put(values)
        to.put(given)

    def scatter(self, to: View, index: View, source: View, operation: str) -> None:
        """Assign, add or multiply the source into to[index].

        With a program's own reduction, `to` itself takes source[index], as in Brook's runtime.
        """
        if operation in _SCATTERED:
            values = to.rows
            _SCATTERED[operation](values, self._addresses(index, to), source.rows)
        else:
            picked = source.rows[self._addresses(index, source)]
            values = self._once(operation, to, picked, to.rows)
        to.put(values)

    @staticmethod
    def _addresses(index: View, view: View) -> Any:
        places = np.floor(index.rows + np.float32(0.5)).astype(np.int64).T[::-1]
        shape = view.part.shape[:-1]
        if len(places) != len(shape):
            raise HostError(f"the index has {len(places)} numbers; give {len(shape)}")
        return np.ravel_multi_index(tuple(places), shape, mode="clip")

    def _once(self, operation: str, like: View, new: F32, old: F32) -> F32:
        """Reduce each pair of elements."""
        kind = like.data.type
        a, r = (View(StreamData(name, kind, v.copy())) for name, v in (("a", new), ("r", old)))
        self._call(self.kernels.find(operation).once(), (a, r))
        return r.part

    # Kernels ------------------------------------------------------------------------------------

    def kernel(self, name: str, *arguments: Any) -> Any:
        """Call a kernel; returns the result of a reduction whose result argument is None."""
        kernel = self.kernels.find(name)
        values_given = [
            View(StreamData(p.name, p.type, np.zeros((1, p.type.components), np.float32)))
            if one is None
            else one
            for p, one in zip(kernel.parameters, arguments, strict=True)
        ]
        self._call(kernel, values_given)
        values = values_given[arguments.index(None)].part[0].tolist() if None in arguments else [0]
        return values if len(values) > 1 else values[0]

    def _call(self, kernel: BrookKernel, arguments: Sequence[Any]) -> None:
        self.calls += 1
        if not all(
            one.part.size
            for one, p in zip(arguments, kernel.parameters, strict=True)
            if p.role in WRITTEN
        ):
            return  # a domain without elements
        datas: dict[StreamData, StreamShape] = {}
        for one in arguments:
            if isinstance(one, View) and one.data not in datas:
                datas[one.data] = StreamShape(f"s{len(datas)}", one.data.type, one.data.extents)
        shapes = (
            replace(one, data=datas[one.data]) if isinstance(one, View) else one
            for one in arguments
        )
        plan = self._plan(kernel, tuple(shapes))
        named = {shape.name: data for data, shape in datas.items()}
        given = {m.name: named[m.name].values.reshape(m.array_shape) for m in plan.operands}
        done = self.recorder(kernel, arguments) if self.recorder else None
        for name, values in self.run(plan, given).items():
            named[name].values = values.reshape(named[name].values.shape)
        if done:
            done()


_SCATTERED = {
    "STREAM_SCATTER_ASSIGN": lambda values, at, new: values.__setitem__(at, new),
    "STREAM_SCATTER_ADD": np.add.at, "STREAM_SCATTER_MUL": np.multiply.at,
}  # fmt: skip
COMBINATIONS = (*_SCATTERED, "STREAM_GATHER_FETCH")
"""The operations of scatters and gathers besides a program's own reductions."""


def uses(kernel: BrookKernel, arguments: Sequence[Any]) -> tuple[dict[Any, None], dict[Any, None]]:
    """The streams whose contents a call needs, and those that it writes."""
    roles = [
        (one, p.role)
        for one, p in zip(arguments, kernel.parameters, strict=True)
        if isinstance(one, View) and not (one.ends and p.role is ParameterRole.ITERATOR)
    ]
    changed = None if kernel.reduces else ParameterRole.REDUCE
    read = (one.data for one, role in roles if role not in WRITTEN or one.start or role is changed)
    return dict.fromkeys(read), {one.data: None for one, role in roles if role in WRITTEN}


def arguments_of(
    kernel: BrookKernel, arguments: Sequence[Any], streams: Mapping[Any, Stream]
) -> Iterating[Any]:
    """The arguments of a call in a plan. streams: those of the plan."""
    for one, parameter in zip(arguments, kernel.parameters, strict=True):
        if not isinstance(one, View):
            yield one
        elif one.ends and parameter.role is ParameterRole.ITERATOR:
            yield Iterator(one.data.extents, *one.ends)
        else:
            stream = streams[one.data]
            yield stream.domain(one.start, one.end) if one.start else stream


def _plan(kernel: BrookKernel, arguments: tuple[Any, ...]) -> Plan:
    """The plan of one call. arguments: their streams are shapes."""
    builder, (read, written) = PlanBuilder(kernel.function.name), uses(kernel, arguments)
    streams = {
        shape: builder.stream(shape.name, shape.type, shape.extents, given=shape in read)
        for shape in read | written
    }
    builder.call(kernel, *arguments_of(kernel, arguments, streams))
    for shape in written:
        builder.output(shape.name, streams[shape])
    return builder.plan()


def _shown(number: float) -> str:
    """A number as streamPrint shows it; two large ones stand for Brook's infinities."""
    if isnan(number):
        return "NaN"
    if isinf(number) or number in {36893206672442393000.0, -18446321861244485632.0}:
        return "inf"
    return "0.00" if abs(number) < 0.000001 else f"{number:.2f}"


def scatter_rounds(addresses: NDArray[np.intp]) -> Iterating[NDArray[np.intp]]:
    """Yield element numbers in rounds: the first of each address, then the second, and so on.

    addresses: the address of each element, in one dimension.
    """
    left = np.arange(len(addresses))
    while len(left):
        first = np.unique(addresses[left], return_index=True)[1]
        yield left[first]
        left = np.delete(left, first)
