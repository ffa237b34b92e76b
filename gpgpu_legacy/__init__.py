"""A historical GPGPU shader emulator: fragment programs, and matrix products, from 2001 on.

>>> from gpgpu_legacy import matmul, run_program
>>> run_program("!!ARBfp1.0 MUL result.color, fragment.position, 2; END", 2, 1)[0, 1]
array([3., 1., 1., 2.], dtype=float32)
>>> matmul([[1.0, 2.0]], [[3.0], [4.0]], method="hall-carr-hart-multi", executor="numpy")
array([[11.]], dtype=float32)

Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpgpu_legacy.algorithms.algorithm import Algorithm as Algorithm
    from gpgpu_legacy.api.cache import CacheRun as CacheRun
    from gpgpu_legacy.api.count import Count as Count
    from gpgpu_legacy.api.figures.figure import Figure as Figure
    from gpgpu_legacy.api.figures.options import AnimationOptions as AnimationOptions
    from gpgpu_legacy.api.figures.options import FigureOptions as FigureOptions
    from gpgpu_legacy.api.figures.pictures import picture as picture
    from gpgpu_legacy.api.host.program import run_brook as run_brook
    from gpgpu_legacy.api.matmul import matmul as matmul
    from gpgpu_legacy.api.pipeline import Pipeline as Pipeline
    from gpgpu_legacy.api.pipeline import find as find
    from gpgpu_legacy.api.programs import run_program as run_program
    from gpgpu_legacy.api.run import Run as Run
    from gpgpu_legacy.api.trace import Trace as Trace
    from gpgpu_legacy.chips.verdict import Verdict as Verdict
    from gpgpu_legacy.errors import AssemblyError as AssemblyError
    from gpgpu_legacy.errors import GpgpuLegacyError as GpgpuLegacyError
    from gpgpu_legacy.errors import GpgpuLegacyWarning as GpgpuLegacyWarning
    from gpgpu_legacy.isa.program import Program as Program
    from gpgpu_legacy.languages.registry import disassemble as disassemble
    from gpgpu_legacy.measure.bench import Bench as Bench
    from gpgpu_legacy.page.one_plan import player as player
    from gpgpu_legacy.pipeline.names import assemble as assemble
    from gpgpu_legacy.pipeline.values import Texels as Texels
    from gpgpu_legacy.plan.plan import Plan as Plan
    from gpgpu_legacy.plan.serialise import plan_as_json as plan_as_json
    from gpgpu_legacy.plan.serialise import read_plan as read_plan
    from gpgpu_legacy.predict.prediction import Prediction as Prediction
    from gpgpu_legacy.runtime.executor import executors as executors
    from gpgpu_legacy.runtime.executor import find_executor as find_executor
    from gpgpu_legacy.runtime.machine import Machine as Machine

_HOMES = {
    "Algorithm": "algorithms.algorithm",
    "AnimationOptions": "api.figures.options",
    "AssemblyError": "errors",
    "CacheRun": "api.cache",
    "Count": "api.count",
    "Figure": "api.figures.figure",
    "FigureOptions": "api.figures.options",
    "GpgpuLegacyError": "errors",
    "GpgpuLegacyWarning": "errors",
    "Machine": "runtime.machine",
    "Pipeline": "api.pipeline",
    "Plan": "plan.plan",
    "Bench": "measure.bench",
    "Prediction": "predict.prediction",
    "Program": "isa.program",
    "Run": "api.run",
    "Texels": "pipeline.values",
    "Trace": "api.trace",
    "Verdict": "chips.verdict",
    "assemble": "pipeline.names",
    "disassemble": "languages.registry",
    "executors": "runtime.executor",
    "find": "api.pipeline",
    "find_executor": "runtime.executor",
    "matmul": "api.matmul",
    "picture": "api.figures.pictures",
    "plan_as_json": "plan.serialise",
    "player": "page.one_plan",
    "read_plan": "plan.serialise",
    "run_brook": "api.host.program",
    "run_program": "api.programs",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - a list of strings, all the same


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
