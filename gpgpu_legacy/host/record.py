"""The kernel calls of a program's run as one plan, with the inputs that they had."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from gpgpu_legacy.api.pipeline import Pipeline
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.host.memory import HostError
from gpgpu_legacy.host.program import run_brook
from gpgpu_legacy.host.streams import Data, arguments_of, uses
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.languages.brook.kernels import Kernel
from gpgpu_legacy.pipeline.streams import Stream

MOST_CALLS = 4096
"""The most calls that are recorded."""


class Recorder:
    """Adds calls to a pipeline; its streams are the program's, and new ones where C wrote.

    inputs: by name. written: the streams that kernels wrote, by name.
    """

    def __init__(self, name: str) -> None:
        self.pipeline, self.inputs = Pipeline(name), dict[str, F32]()
        self._streams: dict[Data, tuple[Stream, bytes]] = {}
        self.written: dict[str, Stream] = {}
        self._taken: set[str] = set()
        self._calls = 0

    def __call__(self, kernel: Kernel, arguments: Sequence[Any]) -> Callable[[], None]:
        """Add a call, before it runs; returns a function that notes what it wrote."""
        self._calls += 1
        if self._calls > MOST_CALLS:
            raise HostError(f"the program calls kernels more than {MOST_CALLS} times; record less")
        read, written = uses(kernel, arguments)
        for data in (*read, *written):
            stream, values = self._streams.get(data, (None, None))
            is_given = data in read and data.values.tobytes() != values
            if stream is None or is_given:
                name = next(n for n in _names(data.name) if n not in self._taken)
                self._taken.add(name)
                stream = self.pipeline.stream(name, data.type, data.extents, given=is_given)
                if is_given:
                    shape = self.pipeline.operands[name].array_shape
                    self.inputs[name] = data.values.reshape(shape).copy()
            self._streams[data] = stream, data.values.tobytes()
        known = {data: stream for data, (stream, _) in self._streams.items()}
        self.pipeline.call(kernel, *arguments_of(kernel, arguments, known))
        self.written |= {known[data].name: known[data] for data in written}

        def done() -> None:
            for data in written:
                self._streams[data] = known[data], data.values.tobytes()

        return done


def _names(name: str) -> Any:
    yield name
    yield from (f"{name}-{number}" for number in count(2))


def recorded(path: str, *arguments: str) -> tuple[Pipeline, dict[str, F32]]:
    """Run a program for its kernel calls: returns them as a pipeline, and its inputs."""
    recorder = Recorder(Path(path).stem)
    run_brook(path, *arguments, recorder=recorder)
    if not recorder.written:
        raise InputError(f"{path} calls no kernel with these arguments, so it has no plan")
    for name, stream in recorder.written.items():
        recorder.pipeline.output(name, stream)
    return recorder.pipeline, recorder.inputs
