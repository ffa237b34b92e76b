"""An algorithm: the function that builds its plan, its parameters, and who published it.

It is one of ours, or in a file, or in another package. A file has a user's Python function, or a
plan.json. A package has the entry point `gpgpu_legacy.algorithms`.

    [project.entry-points."gpgpu_legacy.algorithms"]
    heat = "my_package.heat:heat"

The entry point names an Algorithm, or a function that returns a Pipeline. A function's algorithm
has the entry point's name, and the first line of the docstring as its summary; the function may
have the attributes year, field and source.

A recipe's file, and the module of another package's algorithm, are user code: Python that is
executed. Its errors become one line with the place, and its output goes to stderr, since stdout
belongs to the command.
"""

from __future__ import annotations

import functools
import inspect
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gpgpu_legacy.algorithms.parameters import (
    AlgorithmParameter,
    Plain,
    arguments_of,
    parameters_of,
    plainly,
)
from gpgpu_legacy.errors import (
    AssemblyError,
    GpgpuLegacyError,
    GpgpuLegacyWarning,
    InputError,
    as_whole,
    hint,
    kind_of,
    natural_in,
)
from gpgpu_legacy.files import read_text_bytes
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.serial import Record

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

MOST_BYTES = 1 << 24
"""The most bytes that a recipe's file may have."""


@contextmanager
def running(file: Path | None) -> Iterator[None]:
    """Run code of that file in the block; None is our own code, which is not guarded.

    Raises InputError, with the place in the file, for any error of the code. An interrupt passes
    through, and the error of a program keeps its place in the program.
    """
    if file is None:
        yield
        return
    try:
        with redirect_stdout(sys.stderr):
            yield
    except (KeyboardInterrupt, AssemblyError):
        raise
    except BaseException as error:  # including SystemExit, and the user's own classes
        raise InputError(_in_file(error, file)) from None


def guarded(function: Callable[..., Any], file: Path) -> Callable[..., Any]:
    """The function, wrapped in `running`."""

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        with running(file):
            return function(*arguments, **keywords)

    return call


def module_of(file: Path) -> ModuleType:
    """Execute a Python file, as Python does a script; nothing is written beside it."""
    text, path = read_text_bytes(file, MOST_BYTES), file.resolve()
    module = ModuleType(f"recipe_{file.stem}")
    module.__file__ = str(path)
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    sys.modules[module.__name__] = module
    with running(file):
        exec(compile(text, str(path), "exec", dont_inherit=True), vars(module))
    return module


def _in_file(error: BaseException, file: Path) -> str:
    """An error in one line, after the place in the file that it comes from."""
    if isinstance(error, SyntaxError):
        where = f"{file}:{error.lineno}" if error.lineno else str(file)
        return f"{where}: {error.msg}; mend the recipe's Python"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == file.resolve()]
    where = f"{file}:{lines[-1]}" if lines else str(file)
    return f"{where}: {error if isinstance(error, GpgpuLegacyError) else in_one_line(error)}"


def in_one_line(error: BaseException) -> str:
    """The message of an error, after its class if that is not ours."""
    text = " ".join(str(error).split())
    if isinstance(error, InputError):
        return text
    return f"{type(error).__name__}{': ' * bool(text)}{text}"


SHIPPED_IN = "gpgpu_legacy"
"""The package name of our own algorithms."""

ITERATIONS = "iterations"
"""The name under which any algorithm takes the iterations of its loops with a condition."""


@dataclass(frozen=True)
class Algorithm:
    """A family of plans: an algorithm in passes, with the parameters of a function.

    build: returns a Pipeline, or another builder of a plan. `Annotated[int, "the meaning"]` says
    what a parameter is. The builder has the reference function, sample inputs and the number of
    operations.
    name: on the command line, such as `bitonic-sort`. field: its subject, such as `sorting`.
    source: who published it for graphics hardware, where and when. year: of the publication; None
    if unknown. summary: its result, in one line. aliases: other names. lacked: a feature missing in
    the hardware or API of the day. then: the parameters with which it ran there, if the defaults
    differ. package: its origin. file: of a user's code; None for an algorithm of ours and for a
    plan.json. plays: the parameters of a plan that is small enough for a page of its own, as on the
    command line. gallery: its part of docs/gallery.md, in Markdown.
    """

    name: str
    build: Callable[..., object]
    year: int | None = None
    field: str = "other"
    source: str = ""
    summary: str = ""
    aliases: tuple[str, ...] = ()
    lacked: str = ""
    then: tuple[tuple[str, Plain], ...] = ()
    package: str = SHIPPED_IN
    file: Path | None = None
    plays: str = ""
    gallery: str = ""

    @property
    def explanation(self) -> str:
        """How it works, in paragraphs: the docstring of the module that builds it."""
        return inspect.getdoc(self._module) or ""

    @property
    def recipe(self) -> str:
        """The text of the module that builds it; empty for a plan.json."""
        return inspect.getsource(self._module) if self._module and (self.file or self.year) else ""

    @property
    def _module(self) -> ModuleType | None:
        return sys.modules.get(getattr(self.build, "__module__", ""))

    @cached_property
    def parameters(self) -> dict[str, AlgorithmParameter]:
        """Its parameters by name, in the order of `build`."""
        with running(self.file):
            return {parameter.name: parameter for parameter in parameters_of(self.build)}

    def settings(self, given: dict[str, Any]) -> dict[str, Any]:
        """Values for parameters, checked; a text is converted to the annotated type.

        given: the values by name. Raises InputError for an unknown parameter, a value that does not
        fit and a missing one.
        """
        for name in given:
            if name not in self.parameters:
                known = f"its parameters are {', '.join(self.parameters) or 'none'}"
                how = hint(name, self.parameters, known)
                raise InputError(f"{self.name} has no parameter {name}; {how}")
        for name, parameter in self.parameters.items():
            if parameter.required and name not in given:
                raise InputError(f"{self.name} needs the parameter {name}; give it, as in {name}=…")
        return {
            name: self.parameters[name].checked(value, self.name) for name, value in given.items()
        }

    def builder(self, **given: Any) -> PlanBuilder:
        """The builder of the plan for those parameters; others have their defaults.

        given: the values by name, and iterations.
        iterations: of its loops with a condition, one number or one for each; without it, they run
        until the condition holds. The algorithm may have a parameter of that name instead.

        Raises as `settings` does, and InputError for a function that fails, with its file and line.
        """
        ran = None if ITERATIONS in self.parameters else given.pop(ITERATIONS, None)
        settings = self.settings(given)
        with running(self.file):
            built = self.build(**arguments_of(self.build, self.parameters, settings))
            if self.file is not None and isinstance(built, PlanBuilder):
                built.plan()  # an error has its place in the file
        if inspect.iscoroutine(built):
            built.close()  # else Python warns that it was never awaited
        if isinstance(built, Plan):
            built = PlanBuilder.continuing(built)
        if not isinstance(built, PlanBuilder):
            raise InputError(f"{self.name} returns {kind_of(built)}; return a Pipeline")
        values = {name: parameter.default for name, parameter in self.parameters.items()}
        if ran is not None:
            if not built.has_loops:
                self.settings({ITERATIONS: ran})  # refuses it
            built.iterations = _numbers(ran)
            settings[ITERATIONS] = ran
        built.family = self, settings
        built.parameters = {name: plainly(value) for name, value in (values | settings).items()}
        if self.file is not None:
            built.reference = built.reference and guarded(built.reference, self.file)
            built.samples = {n: guarded(make, self.file) for n, make in built.samples.items()}
        for matrix in built.operands:
            if matrix in self.parameters:
                raise InputError(
                    f"{self.name} has a parameter and an input {matrix}; give them two names"
                )
        return built

    def plan(self, **given: Any) -> Plan:
        """The plan for those parameters.

        given: as for `builder`, which raises alike.
        """
        return self.builder(**given).plan()


def algorithm(**facts: Any) -> Callable[[Callable[..., object]], Algorithm]:
    """Mark a function of ours as an algorithm, with its own name and its folder's as the field.

    facts: other fields of the Algorithm.
    """

    def mark(build: Callable[..., object]) -> Algorithm:
        name, folder = build.__name__.replace("_", "-"), build.__module__.split(".")[2]
        named = {"name": name, "field": folder.replace("_", " ")}
        return Algorithm(build=build, **named | facts)

    return mark


def _numbers(given: Any) -> tuple[int, ...]:
    """Numbers of iterations, from one or several, or from text such as `12` or `12,7`."""
    several = given.split(",") if isinstance(given, str) else given
    numbers = several if isinstance(several, Iterable) else (several,)
    read = [natural_in(n) if isinstance(n, str) else n for n in numbers]
    if None in read:
        raise InputError(f"{ITERATIONS} is {given}; give a whole number, or one for each loop")
    return tuple(as_whole(ITERATIONS, number) for number in read)


# Algorithms in files and in other packages --------------------------------------------------------

GROUP = "gpgpu_legacy.algorithms"


class Unavailable(Record):
    """An offer of a package that cannot be used.

    name: of the entry point. reason: in words. text: all of it, in one line.
    """

    name: str
    package: str
    reason: str
    text: str


@cache
def installed(
    shipped: tuple[Algorithm, ...],
) -> tuple[tuple[Algorithm, ...], tuple[Unavailable, ...]]:
    """The algorithms of other packages, and the unusable offers; loaded on the first call.

    If a package fails, all others stay available. shipped: our own, whose names are taken.
    """
    from importlib.metadata import entry_points

    taken = {name: one.package for one in shipped for name in (one.name, *one.aliases)}
    algorithms: list[Algorithm] = []
    unavailable: list[Unavailable] = []
    # sorted, so that of two with one name the same one is always taken
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (_package(entry), entry.name)):
        try:
            algorithm = _loaded(entry)
            _ = algorithm.parameters  # a callable need not have a readable signature
            if algorithm.name in taken:
                raise InputError(f"{taken[algorithm.name]} has an algorithm {algorithm.name}")
        except (Exception, SystemExit) as error:
            name, package, reason = entry.name, _package(entry), in_one_line(error)
            text = f"the algorithm {name} of {package} cannot be used: {reason}"
            warnings.warn(text, GpgpuLegacyWarning, stacklevel=3)
            unavailable.append(Unavailable(name=name, package=package, reason=reason, text=text))
            continue
        taken[algorithm.name] = algorithm.package
        algorithms.append(algorithm)
    return tuple(algorithms), tuple(unavailable)


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.module


def _loaded(entry: EntryPoint) -> Algorithm:
    loaded = entry.load()
    package = _package(entry)
    if not isinstance(loaded, Algorithm):
        if not callable(loaded) or isinstance(loaded, type):
            raise InputError(
                f"{entry.value} is {kind_of(loaded)}; give an Algorithm, or a function that "
                "returns a Pipeline"
            )
        lines = (loaded.__doc__ or "").strip().splitlines()
        loaded = Algorithm(
            name=entry.name,
            year=getattr(loaded, "year", None),
            field=getattr(loaded, "field", "other"),
            source=getattr(loaded, "source", package),
            summary=lines[0].rstrip(".") if lines else "",
            build=loaded,
        )
    try:
        file = inspect.getsourcefile(loaded.build)
    except TypeError:  # a class without a file, or an instance
        file = None
    name = loaded.name.replace("_", "-")
    return replace(loaded, name=name, package=package, file=Path(file or package))


def from_plan(file: Path) -> Algorithm:
    """The one plan of a file, as an algorithm without parameters."""
    from gpgpu_legacy.plan.serialise import read_plan

    plan = read_plan(file)
    return Algorithm(str(file), lambda: plan)


def _makes_pipeline(function: object) -> bool:
    """Whether a function is annotated to return a Pipeline."""
    returned = getattr(function, "__annotations__", {}).get("return")
    return getattr(returned, "__name__", str(returned)).rpartition(".")[2] == "Pipeline"


def from_python(file: Path, function: str = "") -> Algorithm:
    """The algorithm of a function in a Python file, whose code is executed.

    function: the name of any callable. If it is empty, the file's only function is taken, or the
    only one that is annotated to return a Pipeline, or the one with the file's name. Raises
    InputError if there is none.
    """
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
        meant = [name for name, one in own.items() if _makes_pipeline(one)] or [*own]
        function = meant[0] if len(meant) == 1 else file.stem.replace("-", "_")
    chosen = own.get(function) or vars(module).get(function)
    if callable(chosen):
        return Algorithm(f"{file}:{function}", chosen, file=file)
    if not own:
        raise InputError(f"{file} has no function; write one that returns a Pipeline")
    raise InputError(
        f"{file} has the functions {', '.join(own)}; name the one that returns a Pipeline, as in "
        f"{file}:{next(iter(own))}"
    )
