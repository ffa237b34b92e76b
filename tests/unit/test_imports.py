"""Imports run one way and in no circle; heavy packages are imported where they are used."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import gpgpu_legacy

PACKAGE = "gpgpu_legacy"
ROOT = Path(gpgpu_legacy.__file__).parent

# High to low. Rooms of one line do not import one another.
ORDER = (
    ("__main__",),
    ("cli",),
    ("page",),
    ("studies",),
    ("papers",),
    ("api",),
    ("measure",),
    ("predict",),
    ("chips",),
    ("algorithms",),
    ("pipeline",),
    ("cache", "runtime"),
    ("count",),
    ("lower", "interp"),
    ("plan",),
    ("languages",),
    ("isa",),
    ("present",),
    ("serial",),
    ("code_cache",),
    ("decorators", "files"),
    ("errors",),
)
LEVELS = {room: level for level, rooms in enumerate(reversed(ORDER)) for room in rooms}

# Packages that few files may import, and those files.
WHERE = {
    "msgspec": ("serial.py",),
    "lark": ("languages/*",),
    "moderngl": ("runtime/gl/core.py",),
    "PIL": ("api/figures/pictures.py", "present/*", "studies/*"),
    "matplotlib": ("papers/*", "present/*", "*plot.py", "studies/*"),
    "numba": ("lower/numba_code.py",),
    "llvmlite": ("lower/emit/llvm_*.py", "lower/machine_code.py", "lower/numba_code.py"),
    "ctypes": (
        "lower/machine_code.py",
        "runtime/gl/egl.py",
        "runtime/gl/headers.py",
        "runtime/native.py",
    ),
}

# What a room does not import at all.
WITHOUT = {"lower": ("re",)}  # it reads the IR, and no text


def imports(path: Path, module: str) -> Iterator[tuple[int, str]]:
    """The line and the full name of everything a file imports, wherever in it that stands.

    module: the file's own name, for relative imports. `from a import b` gives both `a` and `a.b`
    away only as `a.b`: whether b is a module or a name in one, a is what it comes from.
    """
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in _statements_of(path):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


@cache
def _statements_of(path: Path) -> tuple[ast.AST, ...]:
    return tuple(statements(ast.parse(path.read_text(encoding="utf-8"))))


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """A node and the statements that stand in it; no expression has any."""
    yield node
    for block in ("body", "handlers", "orelse", "finalbody", "cases"):
        for part in getattr(node, block, ()):
            yield from statements(part)


def module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join([PACKAGE, *(part for part in parts if part != "__init__")])


def complaints(root: Path) -> list[str]:
    """Every import under `root`, the package's folder, that breaks a rule of this file."""
    found = []
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root).as_posix()
        if place == "__init__.py":
            continue  # the public names are collected there from everywhere
        module = module_name(path, root)
        room = module.split(".")[1]
        if room not in LEVELS:
            found.append(f"{place}: the room {room} has no place in the order")
            continue
        for line, name in imports(path, module):
            top, *rest = name.split(".")
            if top == PACKAGE:
                problem = arrow(room, rest[0] if rest else "")
            elif top in WITHOUT.get(room, ()):
                problem = f"{top} is not imported in {room}/"
            elif any(fnmatch(place, pattern) for pattern in WHERE.get(top, ("*",))):
                problem = ""
            else:
                problem = f"{top} is imported in {', '.join(WHERE[top])} only"
            if problem:
                found.append(f"{place}:{line}: {problem}")
    return found


def arrow(room: str, other: str) -> str:
    """What is wrong with an import of room `other` in `room`; nothing where it may."""
    if other == room:
        return ""
    if other not in LEVELS:
        return f"{room} imports the package itself, or an unknown room: {other or PACKAGE}"
    if LEVELS[other] < LEVELS[room]:
        return ""
    where = "above" if LEVELS[other] > LEVELS[room] else "beside"
    return f"{room} imports {other}, which is {where} it"


def graph(root: Path) -> dict[str, set[str]]:
    """The modules under `root` that each of them imports, in functions and for types as well."""
    paths = {module_name(path, root): path for path in root.rglob("*.py")}
    del paths[PACKAGE]  # collects the public names from everywhere
    return {
        module: {n if n in paths else n.rpartition(".")[0] for _, n in imports(path, module)}
        for module, path in paths.items()
    }


def test_imports_run_one_way() -> None:
    assert complaints(ROOT) == []


def test_no_room_below_the_front_end_reads_texture_environments() -> None:
    for room in ("plan", "lower", "interp", "count", "cache", "runtime", "chips"):
        for path in (ROOT / room).rglob("*.py"):
            assert "languages.texenv" not in path.read_text("utf-8"), path


def test_no_imports_run_in_a_circle() -> None:
    TopologicalSorter(graph(ROOT)).prepare()


def test_one_file_reaches_into_moderngl() -> None:
    files = (ROOT / "runtime/gl").glob("*.py")
    assert [path.name for path in files if ".mglo" in path.read_text("utf-8")] == ["core.py"]


def test_rooms_of_the_compiler_import_one_way() -> None:
    rooms = ("emit", "kernels", "temporal", "groups", "fused", "analysis")
    for number, room in enumerate(rooms):
        above = tuple(f"{PACKAGE}.lower.{other}." for other in rooms[:number])
        for path in (ROOT / "lower" / room).glob("*.py"):
            names = [name for _, name in imports(path, module_name(path, ROOT))]
            assert names or path.name == "__init__.py"
            assert not [name for name in names if name.startswith(above)], path


def test_at_most_thirty_two_names_are_exported_and_each_is_there() -> None:
    assert len(gpgpu_legacy.__all__) <= 32
    for name in gpgpu_legacy.__all__:
        assert getattr(gpgpu_legacy, name).__name__ == name


# Text of code -----------------------------------------------------------------------------------

CODE = re.compile(r"[(){}]| = |;$", re.MULTILINE)
"""What expressions and statements of any language have, and words and operators do not."""


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the text of every string in a file that is no docstring and no message."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    prose = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise | ast.Assert) or is_docstring(node)
        for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.lineno, node.value


def is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def test_only_emitters_spell_code() -> None:
    """Text that looks like a statement or a call stands in lower/emit/ alone."""
    found = {
        f"{path.name}:{line}: {text}"
        for path in (ROOT / "lower").rglob("*.py")
        if path.parent.name != "emit"
        for line, text in texts(path)
        if CODE.search(text)
    }
    assert found == set()
    assert sum(CODE.search(text) is not None for _, text in texts(ROOT / "lower/emit/glsl.py")) > 9


# What is imported at run time --------------------------------------------------------------------


def modules_after(statements: str) -> set[str]:
    """The full names of the modules that a fresh interpreter has after these statements."""
    code = f"{statements}\nimport sys\nprint(*sorted(sys.modules), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def imported_by(statements: str) -> set[str]:
    """The top-level ones of them."""
    return {name.partition(".")[0] for name in modules_after(statements)}


HEAVY = {"numpy", "lark", "moderngl", "sympy", "PIL", "jinja2"}


@pytest.mark.parametrize(
    "statements",
    [
        "import gpgpu_legacy",
        "import gpgpu_legacy.algorithms.registry",
        "from gpgpu_legacy.algorithms.registry import products; products()",
        "from gpgpu_legacy.algorithms.registry import all_algorithms; all_algorithms()",
    ],
)
def test_listing_the_methods_imports_nothing_heavy(statements: str) -> None:
    found = imported_by(statements)
    assert PACKAGE in found
    assert not found & HEAVY


def test_a_program_is_checked_without_numpy_and_plans() -> None:
    found = modules_after(
        "from gpgpu_legacy.chips.check import check_program\n"
        "from gpgpu_legacy.chips.profile import find_profile\n"
        "from gpgpu_legacy.languages.arb.parser import assemble\n"
        "text = '!!ARBfp1.0 TEMP a; TEX a, fragment.color, texture[0], 2D; LIT a, a;"
        " POW a, a.x, a.y; SCS a.xy, a.x; FRC a, a; MAX a, a, a; LRP a, a, a, a; RSQ a, a.x; KIL a;"
        " TEX a, a, texture[0], 2D; MOV result.color, a; END'\n"
        "check_program(assemble(text), find_profile('r300'))"
    )
    assert f"{PACKAGE}.chips.check" in found
    assert not found & {"numpy", "sympy", "jinja2", f"{PACKAGE}.plan.plan"}


def test_executors_are_listed_without_making_a_gl_context() -> None:
    found = imported_by("from gpgpu_legacy.runtime.executor import executors; executors()")
    assert "numpy" in found
    assert not found & {"moderngl", "sympy", "PIL"}


def test_executors_are_listed_without_what_they_are_built_on() -> None:
    found = modules_after("from gpgpu_legacy.runtime.executor import executors; executors()")
    assert f"{PACKAGE}.runtime.executors.jit" in found
    packages = ("moderngl*", "llvmlite*", "numba*", "lark*")
    rooms = (f"{PACKAGE}.{room}.*" for room in ("lower", "interp", "ir", "languages"))
    files = (f"{PACKAGE}.runtime.{name}" for name in ("gl.*", "jit", "native", "host"))
    heavy = (*packages, *rooms, *files)
    built_on = {name for name in found if any(fnmatch(name, pattern) for pattern in heavy)}
    assert built_on == {f"{PACKAGE}.runtime.gl.executor"}  # which is light
