"""Recipes: functions that build pipelines, by the name of an algorithm or from a Python file.

A recipe's parameters are the function's. A `plan.json` is a recipe without any.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from gpgpu_legacy.algorithms.algorithm import Parameter, parameters_of
from gpgpu_legacy.algorithms.registry import find_algorithm
from gpgpu_legacy.arguments import as_text, described, kind_of
from gpgpu_legacy.errors import AssemblyError, GpgpuLegacyError, InputError
from gpgpu_legacy.files import read_text
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.reference import Reference
from gpgpu_legacy.pipeline.storage import Sample
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.serialise import read_plan
from gpgpu_legacy.plan.validate import validate


@dataclass(frozen=True)
class Built:
    """What a recipe builds. reference, samples: see PlanBuilder.

    parameters: all that it was built with. settings: the names of those that were given.
    """

    plan: Plan
    parameters: Mapping[str, Any]
    settings: frozenset[str] = frozenset()
    reference: Reference | None = None
    samples: Mapping[str, Sample] = field(default_factory=dict)


@dataclass(frozen=True)
class Recipe:
    """A family of plans. name: for messages. function: builds one from its parameters.

    file: of the user's code; None for an algorithm of a package and for a plan.json.
    """

    name: str
    function: Callable[..., object]
    file: Path | None = None

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The function's parameters, by name."""
        return {parameter.name: parameter for parameter in parameters_of(self.function)}

    def build(self, settings: Mapping[str, object] | None = None) -> Built:
        """The plan for those settings; the others have their defaults.

        A setting may be text, which becomes what the parameter's annotation or default says.
        Raises InputError for an unknown parameter, a value that does not fit and a missing one, and
        for a recipe that fails, with its file and line.
        """
        parameters = self.parameters
        given = self._settings(settings or {}, parameters)
        built = self._guarded(lambda: self.function(**given))
        shown = {
            name: value.value if isinstance(value, Enum) else value
            for name, parameter in parameters.items()
            for value in [given.get(name, parameter.default)]
        }
        if isinstance(built, Plan):
            validate(built)
            return Built(built, shown, frozenset(given))
        if isinstance(built, PlanBuilder):
            plan = self._guarded(built.plan)
            return Built(plan, shown, frozenset(given), built.reference, built.samples)
        raise InputError(f"{self.name} returns {kind_of(built)}; return a Pipeline")

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

    def _guarded(self, call: Callable[[], Any]) -> Any:
        """The call's value; what it raises becomes an InputError with the place in the file."""
        if self.file is None:
            return call()
        try:
            return call()
        except Exception as error:
            raise InputError(_in_file(error, self.file)) from None


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
    name, colon, function = what.rpartition(":")
    file = Path(name if colon and name.endswith(".py") else what)
    if file.suffix == ".py":
        return _from_file(file, function if colon and name.endswith(".py") else "")
    if file.suffix == ".json":
        plan = read_plan(file)
        return Recipe(str(file), lambda: plan)
    if "/" in what or "\\" in what:
        raise InputError(f"{what} is neither a .py nor a .json; give a recipe or a plan.json")
    algorithm = find_algorithm(what)
    return Recipe(algorithm.name, algorithm.build)


# Python files -----------------------------------------------------------------------------------


def _from_file(file: Path, function: str) -> Recipe:
    module = _module(file)
    own = {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and name[0] != "_"
    }
    if not function:
        function = next(iter(own)) if len(own) == 1 else file.stem.replace("-", "_")
    if function not in own:
        known = ", ".join(own) or "none"
        if not own:
            raise InputError(f"{file} has no function; write one that returns a Pipeline")
        raise InputError(
            f"{file} has the functions {known}; name the one that returns a Pipeline, as in "
            f"{file}:{next(iter(own))}"
        )
    return Recipe(f"{file}:{function}", own[function], file)


def _module(file: Path) -> ModuleType:
    text = read_text(file)
    try:
        compile(text, str(file), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise InputError(_in_file(error, file)) from None
    spec = spec_from_file_location(f"recipe_{file.stem}", file.resolve())
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # as Python does for a script
    sys.modules[module.__name__] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise InputError(_in_file(error, file)) from None
    return module


def _in_file(error: BaseException, file: Path) -> str:
    """An error of a recipe in one line, after the place in the file that it comes from."""
    if isinstance(error, AssemblyError):
        return str(error)
    if isinstance(error, SyntaxError):
        where = f"{file}:{error.lineno}" if error.lineno else str(file)
        return f"{where}: {error.msg}; mend the recipe's Python"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == file.resolve()]
    where = f"{file}:{lines[-1]}" if lines else str(file)
    if isinstance(error, GpgpuLegacyError):
        return f"{where}: {error}"
    text = " ".join(str(error).split())
    return f"{where}: {type(error).__name__}{': ' * bool(text)}{text}"


# Values of parameters ---------------------------------------------------------------------------


def _converted(recipe: str, name: str, value: object, kind: Any) -> Any:
    """A setting in the type of its parameter."""
    if not isinstance(value, str):
        return value
    what = f"{recipe}: {name} is {described(value)}"
    options = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    if NoneType in options and len(options) > 1 and value.lower() == "none":
        return None
    wanted = []
    for option in options:
        if get_origin(option) is Literal:
            choices = {str(choice): choice for choice in get_args(option)}
        elif isinstance(option, type) and issubclass(option, Enum):
            choices = {str(member.value): member for member in option}
        elif option is bool:
            choices = _YES_OR_NO
        else:
            number = _plain(value, option)
            if number is not None:
                return number
            wanted += [_WORDS.get(option, "")]
            continue
        if value.lower() in choices:
            return choices[value.lower()]
        wanted.append(f"one of {', '.join(choices)}")
    raise InputError(f"{what}; give {' or '.join(filter(None, wanted)) or 'another value'}")


def _plain(value: str, kind: Any) -> int | float | str | None:
    """Text as a number or as itself; None where it does not fit."""
    if kind not in (int, float, str):
        return None
    try:
        return kind(value)  # type: ignore[no-any-return]
    except ValueError:
        return None


_YES_OR_NO: dict[str, Any] = {
    "true": True, "yes": True, "1": True, "false": False, "no": False, "0": False
}  # fmt: skip

_WORDS = {int: "a whole number", float: "a number"}
