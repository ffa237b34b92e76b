"""Recipes: functions that build pipelines, by the name of an algorithm or from a Python file.

A recipe's parameters are the function's. A `plan.json` is a recipe without any.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

from gpgpu_legacy.algorithms.algorithm import SHIPPED_IN, Algorithm, Parameter, parameters_of
from gpgpu_legacy.algorithms.registry import find_algorithm
from gpgpu_legacy.api.user_code import guarded, module_of, running
from gpgpu_legacy.arguments import as_text, described, kind_of
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.reference import Reference
from gpgpu_legacy.pipeline.storage import Sample
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.serialise import read_plan
from gpgpu_legacy.plan.validate import validate

PYTHON = ".py"

Plain = int | float | str | bool | None
"""A parameter's value, as it is shown and recorded."""


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
            name: _plainly(given.get(name, parameter.default))
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
            name: _converted(self.name, name, value, parameters[name].kind)
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
    as_text("what", what, "an algorithm's name, FILE.py[:function] or a plan.json")
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


# Values of parameters ---------------------------------------------------------------------------


def _plainly(value: object) -> Plain:
    """A parameter as it is shown and recorded: a number, a flag or text."""
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, Plain) else str(value)


def _converted(recipe: str, name: str, value: object, kind: Any) -> Any:
    """A setting in the type of its parameter."""
    if not isinstance(value, str):
        return value
    options = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    if NoneType in options and len(options) > 1 and value.lower() == "none":
        return None
    wanted = []
    for option in options:
        choices = _choices(option)
        spelled = {text.lower(): choice for text, choice in choices.items()} | choices
        for text in (value, value.lower()):
            if text in spelled:
                return spelled[text]
        if choices:
            wanted.append(f"one of {', '.join(choices)}")
        elif isinstance(option, type) and issubclass(option, (Real, str)):
            try:
                return option(value)  # type: ignore[call-arg]
            except ValueError:
                wanted.append("a whole number" if issubclass(option, Integral) else "a number")
    if not wanted:
        raise InputError(
            f"{recipe}: {name} cannot be given as text; annotate it with int, float, str, bool, an "
            "Enum or a Literal"
        )
    raise InputError(f"{recipe}: {name} is {described(value)}; give {' or '.join(wanted)}")


def _choices(kind: Any) -> dict[str, Any]:
    """The values of a type that has few, by how they are given; none for other types."""
    if get_origin(kind) is Literal:
        return {str(choice): choice for choice in get_args(kind)}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {str(member.value): member for member in kind}
    return _YES_OR_NO if kind is bool else {}


_YES_OR_NO: dict[str, Any] = {
    "true": True, "yes": True, "1": True, "false": False, "no": False, "0": False
}  # fmt: skip
