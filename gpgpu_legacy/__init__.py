"""A historical GPGPU shader emulator: fragment programs, and matrix products, from 2001 on.

>>> from gpgpu_legacy import matmul, run_program
>>> run_program("!!ARBfp1.0 MUL result.color, fragment.position, 2; END", 2, 1)[0, 1]
array([3., 1., 1., 2.], dtype=float32)
>>> matmul([[1.0, 2.0]], [[3.0], [4.0]], method="hall-carr-hart-multi", executor="numpy")
array([[11.]], dtype=float32)

Everything is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpgpu_legacy.algorithms.algorithm import Algorithm as Algorithm
    from gpgpu_legacy.algorithms.matmul.method import Method as Method
    from gpgpu_legacy.algorithms.matmul.options import Accumulate as Accumulate
    from gpgpu_legacy.algorithms.matmul.options import Options as Options
    from gpgpu_legacy.algorithms.matmul.options import Shape as Shape
    from gpgpu_legacy.algorithms.registry import all_algorithms as all_algorithms
    from gpgpu_legacy.algorithms.registry import find_algorithm as find_algorithm
    from gpgpu_legacy.algorithms.registry import find_method as find_method
    from gpgpu_legacy.algorithms.registry import methods as methods
    from gpgpu_legacy.api.drawing import DrawArguments as DrawArguments
    from gpgpu_legacy.api.figure import Figure as Figure
    from gpgpu_legacy.api.figure_options import AnimationOptions as AnimationOptions
    from gpgpu_legacy.api.figure_options import FigureOptions as FigureOptions
    from gpgpu_legacy.api.matmul import matmul as matmul
    from gpgpu_legacy.api.pictures import Picture as Picture
    from gpgpu_legacy.api.pictures import picture as picture
    from gpgpu_legacy.api.pipeline import Pipeline as Pipeline
    from gpgpu_legacy.api.pipeline import find as find
    from gpgpu_legacy.api.programs import run_program as run_program
    from gpgpu_legacy.api.run import Run as Run
    from gpgpu_legacy.api.trace import Trace as Trace
    from gpgpu_legacy.chips.check import check_program as check_program
    from gpgpu_legacy.chips.check_plan import check_plan as check_plan
    from gpgpu_legacy.chips.profile import find_profile as find_profile
    from gpgpu_legacy.count.resources import resources as resources
    from gpgpu_legacy.count.traffic import Accounting as Accounting
    from gpgpu_legacy.count.traffic import Counts as Counts
    from gpgpu_legacy.count.traffic import count_plan as count_plan
    from gpgpu_legacy.errors import AssemblyError as AssemblyError
    from gpgpu_legacy.errors import GpgpuLegacyError as GpgpuLegacyError
    from gpgpu_legacy.errors import GpgpuLegacyWarning as GpgpuLegacyWarning
    from gpgpu_legacy.isa.arithmetic import Arithmetic as Arithmetic
    from gpgpu_legacy.isa.arithmetic import find_arithmetic as find_arithmetic
    from gpgpu_legacy.isa.ir import Program as Program
    from gpgpu_legacy.languages.arb.parser import assemble as assemble
    from gpgpu_legacy.languages.arb.printer import disassemble as disassemble
    from gpgpu_legacy.measure.plan_bench.model import bench_plan as bench_plan
    from gpgpu_legacy.measure.plan_bench.record import PlanBench as PlanBench
    from gpgpu_legacy.page.notebook import Player as Player
    from gpgpu_legacy.page.notebook import player as player
    from gpgpu_legacy.page.one_plan import plan_page as plan_page
    from gpgpu_legacy.pipeline.builder import PlanBuilder as PlanBuilder
    from gpgpu_legacy.pipeline.values import Texels as Texels
    from gpgpu_legacy.plan.expand import expand as expand
    from gpgpu_legacy.plan.plan import Plan as Plan
    from gpgpu_legacy.plan.serialise import plan_as_json as plan_as_json
    from gpgpu_legacy.plan.serialise import plan_from_json as plan_from_json
    from gpgpu_legacy.plan.serialise import read_plan as read_plan
    from gpgpu_legacy.plan.validate import validate as validate
    from gpgpu_legacy.runtime.executor import Executor as Executor
    from gpgpu_legacy.runtime.machine import Machine as Machine
    from gpgpu_legacy.runtime.prepared import Prepared as Prepared
    from gpgpu_legacy.runtime.prepared import Result as Result
    from gpgpu_legacy.runtime.prepared import Timings as Timings
    from gpgpu_legacy.runtime.registry import executors as executors
    from gpgpu_legacy.runtime.registry import find_executor as find_executor

_HOMES = {
    "Accounting": "count.traffic",
    "Accumulate": "algorithms.matmul.options",
    "Algorithm": "algorithms.algorithm",
    "AnimationOptions": "api.figure_options",
    "Arithmetic": "isa.arithmetic",
    "AssemblyError": "errors",
    "Counts": "count.traffic",
    "DrawArguments": "api.drawing",
    "Executor": "runtime.executor",
    "Figure": "api.figure",
    "FigureOptions": "api.figure_options",
    "GpgpuLegacyError": "errors",
    "GpgpuLegacyWarning": "errors",
    "Machine": "runtime.machine",
    "Method": "algorithms.matmul.method",
    "Options": "algorithms.matmul.options",
    "Picture": "api.pictures",
    "Pipeline": "api.pipeline",
    "Plan": "plan.plan",
    "PlanBench": "measure.plan_bench.record",
    "PlanBuilder": "pipeline.builder",
    "Player": "page.notebook",
    "Prepared": "runtime.prepared",
    "Program": "isa.ir",
    "Result": "runtime.prepared",
    "Run": "api.run",
    "Shape": "algorithms.matmul.options",
    "Texels": "pipeline.values",
    "Timings": "runtime.prepared",
    "Trace": "api.trace",
    "all_algorithms": "algorithms.registry",
    "assemble": "languages.arb.parser",
    "bench_plan": "measure.plan_bench.model",
    "check_plan": "chips.check_plan",
    "check_program": "chips.check",
    "count_plan": "count.traffic",
    "disassemble": "languages.arb.printer",
    "executors": "runtime.registry",
    "expand": "plan.expand",
    "find": "api.pipeline",
    "find_algorithm": "algorithms.registry",
    "find_arithmetic": "isa.arithmetic",
    "find_executor": "runtime.registry",
    "find_method": "algorithms.registry",
    "find_profile": "chips.profile",
    "matmul": "api.matmul",
    "methods": "algorithms.registry",
    "picture": "api.pictures",
    "plan_as_json": "plan.serialise",
    "plan_from_json": "plan.serialise",
    "plan_page": "page.one_plan",
    "player": "page.notebook",
    "read_plan": "plan.serialise",
    "resources": "count.resources",
    "run_program": "api.programs",
    "validate": "plan.validate",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - a list of strings, all the same


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
