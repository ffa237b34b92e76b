"""Recipes: functions that build pipelines, by the name of an algorithm or from a Python file.

A recipe's parameters are the function's. A `plan.json` is a recipe without any.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from gpgpu_legacy.algorithms.algorithm import SHIPPED_IN, Algorithm
from gpgpu_legacy.algorithms.parameters import Parameter, Plain, parameters_of, plainly
from gpgpu_legacy.algorithms.registry import find_algorithm
from gpgpu_legacy.api.user_code import guarded, module_of, running
from gpgpu_legacy.arguments import kind_of
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.reference import Reference
from gpgpu_legacy.pipeline.storage import Sample
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.serialise import read_plan
from gpgpu_legacy.plan.validate import validate

PYTHON = ".py"


@dataclass(frozen=True)
class Built:
    """What a recipe builds. reference, samples: see PlanBuilder.

    parameters: all that it was built with. settings: the names of those that were given.
    """

    plan: Plan
    parameters: Mapping[str, Plain]
    settings: frozenset[str] = frozenset()
    reference: Reference | None = None
    samples: Mapping[str, Sample] = field(default_factory=dict)


@dataclass(frozen=True)
class Recipe:
    """A family of plans. name: for messages. function: builds one from its parameters.

    file: of somebody else's code; None for an algorithm of ours and for a plan.json.
    """

    name: str
    function: Callable[..., object]
    file: Path | None = None

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The function's parameters, by name."""
        with running(self.file):
            return {parameter.name: parameter for parameter in parameters_of(self.function)}

    def build(self, settings: Mapping[str, object] | None = None) -> Built:
        """The plan for those settings; the others have their defaults.

        A setting may be text, which becomes what the parameter's annotation or default says.
        Raises InputError for an unknown parameter, a value that does not fit and a missing one, and
        for a recipe that fails, with its file and line.
        """
        parameters = self.parameters
        given = self._settings(settings or {}, parameters)
        with running(self.file):
            built = self.function(**given)
            plan = built.plan() if isinstance(built, PlanBuilder) else built
        if inspect.iscoroutine(built):
            built.close()  # or Python warns that nobody awaited it
        if not isinstance(plan, Plan):
            raise InputError(f"{self.name} returns {kind_of(built)}; return a Pipeline")
        shown = {
            name: plainly(given.get(name, parameter.default))
            for name, parameter in parameters.items()
        }
        if not isinstance(built, PlanBuilder):
            validate(plan)
            return Built(plan, shown, frozenset(given))
        reference = built.reference and guarded(built.reference, self.file)
        samples = {name: guarded(make, self.file) for name, make in built.samples.items()}
        return Built(plan, shown, frozenset(given), reference, samples)

    def _settings(
        self, given: Mapping[str, object], parameters: Mapping[str, Parameter]
    ) -> dict[str, Any]:
        known = ", ".join(parameters) or "none"
        for name in given:
            if name not in parameters:
                close = get_close_matches(name, parameters, n=1)
                hint = f"did you mean {close[0]}?" if close else f"it has {known}"
                raise InputError(f"{self.name} has no parameter {name}; {hint}")
        for name, parameter in parameters.items():
            if parameter.required and name not in given:
                raise InputError(
                    f"{self.name} needs the parameter {name}; give it, as in --set {name}=…"
                )
        return {
            name: parameters[name].parsed(value, self.name) if isinstance(value, str) else value
            for name, value in given.items()
        }


def caption(built: Built) -> str:
    """The plan's name, its sizes, and the parameters that were given."""
    shown = ", ".join(
        f"{name} = {value}"
        for name, value in built.parameters.items()
        if name in built.settings or type(value) is int
    )
    return f"{built.plan.name}{': ' * bool(shown)}{shown}"


def find_recipe(what: str) -> Recipe:
    """The recipe of that name.

    what: an algorithm, as in `jacobi`; a function of a Python file, as in `FILE.py:function`, whose
    code is executed; or a `plan.json`, which holds no code. The function may be left out where the
    file has only one, or one with the file's name.
    Raises InputError where there is none.
    """
    name, colon, function = what.partition(f"{PYTHON}:")
    file = Path(name + PYTHON if colon else what)
    if file.suffix == PYTHON:
        return _from_file(file, function)
    if file.suffix == ".json":
        plan = read_plan(file)
        return Recipe(str(file), lambda: plan)
    if "/" in what or "\\" in what:
        raise InputError(f"{what} is neither a .py nor a .json; give a recipe or a plan.json")
    algorithm = find_algorithm(what)
    return Recipe(algorithm.name, algorithm.build, _file_of(algorithm))


# Python files -----------------------------------------------------------------------------------


def _from_file(file: Path, function: str) -> Recipe:
    """The recipe of that name in a file: any callable; without a name, a function of the file."""
    module = module_of(file)
    own = {
        name: value
        for name, value in vars(module).items()
        if name[0] != "_"
        and callable(value)
        and not isinstance(value, type)
        and getattr(value, "__module__", None) == module.__name__
    }
    if not function:
        function = next(iter(own)) if len(own) == 1 else file.stem.replace("-", "_")
    chosen = own.get(function) or vars(module).get(function)
    if callable(chosen):
        return Recipe(f"{file}:{function}", chosen, file)
    if not own:
        raise InputError(f"{file} has no function; write one that returns a Pipeline")
    raise InputError(
        f"{file} has the functions {', '.join(own)}; name the one that returns a Pipeline, as in "
        f"{file}:{next(iter(own))}"
    )


def _file_of(algorithm: Algorithm) -> Path | None:
    """The file of an algorithm that another package offers; None for one of ours."""
    if algorithm.package == SHIPPED_IN:
        return None
    try:
        return Path(inspect.getsourcefile(algorithm.build) or algorithm.package)
    except TypeError:  # a class without a file, or an instance
        return Path(algorithm.package)
