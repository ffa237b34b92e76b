"""The kernel calls of a program's run as one plan, with the inputs that they had."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gpgpu_legacy.api.host.memory import HostError
from gpgpu_legacy.api.host.program import run_brook
from gpgpu_legacy.api.host.streams import StreamData, arguments_of, uses
from gpgpu_legacy.api.pipeline import Pipeline
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.languages.brook.kernels import BrookKernel
from gpgpu_legacy.pipeline.streams import Stream

MOST_CALLS = 4096
"""The most calls that are recorded."""


class CallRecorder:
    """Adds calls to a pipeline; its streams are the program's, and new ones where C wrote.

    inputs: by name. written: the streams that kernels wrote, by name.
    """

    def __init__(self, name: str) -> None:
        self.pipeline, self.inputs = Pipeline(name), dict[str, F32]()
        self.written: dict[str, Stream] = {}
        self._streams: dict[StreamData, Stream] = {}
        self._values: dict[StreamData, bytes] = {}
        self._names, self._calls = Counter[str](), 0

    def __call__(self, kernel: BrookKernel, arguments: Sequence[Any]) -> Callable[[], None]:
        """Add a call, before it runs; returns a function that notes what it wrote."""
        self._calls += 1
        if self._calls > MOST_CALLS:
            raise HostError(f"the program calls kernels more than {MOST_CALLS} times; record less")
        read, written = uses(kernel, arguments)
        for data in read | written:
            is_given = data in read and data.values.tobytes() != self._values.get(data)
            if is_given or data not in self._streams:
                self._names[data.name] += 1
                number = self._names[data.name]
                name = data.name if number == 1 else f"{data.name}-{number}"
                self._streams[data] = self.pipeline.stream(
                    name, data.type, data.extents, given=is_given
                )
            if is_given:
                shape = self.pipeline.operands[name].array_shape
                self.inputs[name] = data.values.reshape(shape).copy()
                self._values[data] = data.values.tobytes()
        self.pipeline.call(kernel, *arguments_of(kernel, arguments, self._streams))
        self.written |= {self._streams[data].name: self._streams[data] for data in written}

        def done() -> None:
            self._values |= {data: data.values.tobytes() for data in written}

        return done


def recorded(path: str, *arguments: str, profile: str = "") -> tuple[Pipeline, dict[str, F32]]:
    """Run a program for its kernel calls: returns them as a pipeline, and its inputs."""
    recorder = CallRecorder(Path(path).stem)
    run_brook(path, *arguments, recorder=recorder, profile=profile)
    if not recorder.written:
        raise InputError(f"{path} calls no kernel with these arguments, so it has no plan")
    for name, stream in recorder.written.items():
        recorder.pipeline.output(name, stream)
    return recorder.pipeline, recorder.inputs
