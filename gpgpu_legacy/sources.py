"""Files of a checkout beside the package: shaders/, benchmarks/, docs/; and its commit."""

from __future__ import annotations

import sys
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Template


def shader_folder() -> Path:
    """The folder of the shaders: in the installed package, or at the top of a checkout."""
    return _folder("shaders")


def recorded_file(name: str) -> Path:
    """A file of recorded measurements in benchmarks/, such as `lineage-h100.json`."""
    return _folder("benchmarks") / name


def documentation_file(name: str) -> Path:
    """A page of docs/ that the package reads: `glossary.md`."""
    return _folder("docs") / name


def _folder(name: str) -> Path:
    package = Path(__file__).resolve().parent
    inside = package / name
    return inside if inside.is_dir() else package.parent / name


def shader_text(path: str, **parameters: int | str | bool) -> str:
    """The text of a shader; a template (.j2), which unrolls loops, is rendered.

    path: relative to shaders/, such as `hall_carr_hart_2003/multi.fp.j2`. parameters: the variables
    of the template; jinja2 raises an error for a missing one.
    """
    text = (shader_folder() / path).read_text(encoding="utf-8")
    return _template(text).render(parameters) if path.endswith(".j2") else text


@cache
def _template(text: str) -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False
    )
    return environment.from_string(text)


# The origin of a result ---------------------------------------------------------------------------


@cache
def package_version() -> str | None:
    """The version of gpgpu_legacy; None if it runs without being installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("gpgpu-legacy")
    except PackageNotFoundError:
        return None


@cache
def package_digest() -> str:
    """A digest of all files that results may depend on: the package's, and those beside it."""
    folders = Path(__file__).resolve().parent, shader_folder(), _folder("benchmarks")
    files = [path for folder in folders for path in sorted(folder.rglob("*.*")) if path.is_file()]
    files.append(documentation_file("glossary.md"))
    digests = (sha256(file.read_bytes()).digest() for file in files if file.suffix != ".pyc")
    return sha256(b"".join(digests)).hexdigest()


@cache
def library_versions() -> str:
    """Python's version, and what is installed beside it with its version, in any order."""
    installed = {path.name for folder in sys.path for path in Path(folder).glob("*.dist-info")}
    return " ".join((sys.version, *sorted(installed)))


def checkout() -> Path | None:
    """The checkout of the project that the package runs from; None if it is installed."""
    root = Path(__file__).resolve().parent.parent
    return root if (root / ".git").exists() else None


@cache
def commit() -> str | None:
    """The commit of the checkout that the package runs from; None if it is installed."""
    import subprocess

    root = checkout()
    if root is None:
        return None
    try:
        head, changes = (
            subprocess.run(
                ["git", "-C", str(root), *words], capture_output=True, text=True, check=True
            ).stdout.strip()
            for words in (("rev-parse", "--short=12", "HEAD"), ("status", "--porcelain"))
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return head + "+" * bool(changes)
