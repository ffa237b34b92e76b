"""Programs and kernels that passes are given: as text, by file, or assembled."""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpgpu_legacy.door import public
from gpgpu_legacy.errors import InputError, kind_of
from gpgpu_legacy.files import read_text
from gpgpu_legacy.ir.kernel import Kernel
from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.languages.language import MOST_CHARACTERS, is_text, split_entry
from gpgpu_legacy.languages.registry import kernel_of, program_of

if TYPE_CHECKING:
    from gpgpu_legacy.languages.brook.kernels import BrookKernel, Kernels


@public
def assemble(
    program: Program | Path | str | Any,
    name: str = "program",
    *,
    lenient: bool = False,
    mathematics: str = "",
    profile: str = "",
) -> Program:
    """A Program from its text or its file, in any shader language.

    program: its text, which has a line break or a semicolon, or begins with `!!`; or its file,
    `FILE.fp` or `FILE.cg:entry,MACRO=VALUE`, beside the file of the caller's code or else in the
    current folder; or a Program, as it is. A text is ARB_fragment_program or texture environments
    by its header; Cg, HLSL or GLSL by the suffix of its file; GLSL if it has `void main()`, and Cg
    or HLSL if it has another function.
    name: of a program given as text, in messages. lenient: whether to take what a language forbids
    and drivers took: text before `!!ARBfp1.0`, and GLSL ES without a precision.
    mathematics: `cg`, `direct3d9` or `glsl`, of what languages define otherwise; its own if empty.
    profile: `arbfp1`, `fp40` or `ps_3_0`, for a text in Cg, HLSL or GLSL; chosen if empty.
    Raises AssemblyError for a text that is wrong, and InputError for a missing file.
    """
    given = program
    asked: Any = {"lenient": lenient, "mathematics": mathematics, "profile": profile}
    if isinstance(given, Program):
        return given
    if isinstance(given, str) and is_text(given):
        return _assembled(given, name, **asked)
    if isinstance(given, str | Path):
        file = split_entry(str(given))[0]
        path = _found(Path(file))
        text, name = read_text(path, MOST_CHARACTERS), f"{path}{str(given)[len(file) :]}"
        # A file that the text includes may change.
        return (program_of if "#include" in text else _assembled)(text, name, **asked)
    raise InputError(f"the program is {kind_of(given)}; give a Program, its text or its file")


def as_kernel(given: object, name: str) -> Kernel:
    """A Kernel, in the same way."""
    if isinstance(given, Kernel):
        return given
    if isinstance(given, str) and is_text(given):
        return kernel_of(given, name)
    if isinstance(given, str | Path):
        path = _found(Path(given))
        return kernel_of(read_text(path), str(path))
    raise InputError(f"the kernel is {kind_of(given)}; give a Kernel, its text or its file")


def as_brook(given: object, name: str) -> BrookKernel:
    """A kernel of a Brook text: from one, from the text of a single one, or `FILE.br:kernel`."""
    from gpgpu_legacy.languages.brook.kernels import BrookKernel

    if isinstance(given, BrookKernel):
        return given
    if not isinstance(given, str):
        raise InputError(f"the kernel is {kind_of(given)}; give `FILE.br:kernel` or its text")
    if is_text(given):
        return _brook(given, name, None).find()
    file, _, kernel = given.partition(".br:")
    path = _found(Path(f"{file}.br" if kernel else file))
    return _brook(read_text(path, MOST_CHARACTERS), str(path), path.parent).find(kernel)


@lru_cache(maxsize=64)
def _brook(text: str, name: str, folder: Path | None) -> Kernels:
    from gpgpu_legacy.languages.brook.kernels import Kernels
    from gpgpu_legacy.languages.c.parser import parse

    return Kernels(parse(text, name, folder=folder))


_assembled = lru_cache(maxsize=256)(program_of)


def _found(path: Path) -> Path:
    if path.is_absolute():
        return path
    folders = [folder for folder in (_callers_folder(), Path()) if folder is not None]
    for folder in folders:
        if (folder / path).is_file():
            return folder / path
    raise InputError(
        f"there is no file {path}, neither beside the code that names it nor in the current folder"
    )


def _callers_folder() -> Path | None:
    """The folder of the file whose code called this package; None for code without a file."""
    package = __name__.partition(".")[0]
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] != package:
            file = frame.f_globals.get("__file__")
            return Path(file).resolve().parent if file else None
        frame = frame.f_back  # type: ignore[assignment]
    return None
