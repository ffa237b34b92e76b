"""Functions compiled by numba, and their machine code on disk for later processes.

numba's own cache lies beside the sources, and recompiles only after an edit of the called
function's file. Here code is kept with all other generated code (code_cache.py), under a key that
lists everything that it depends on: all sources of the function's folder; the options and the types
of the arguments; the versions of numba, llvmlite and Python; and the processor. So code is never
stale, and nothing is written beside the sources.

numba is imported when a function is first called, since that takes half a second.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from functools import cache, cached_property, partial, update_wrapper
from hashlib import sha256
from pathlib import Path
from typing import Any

from gpgpu_legacy import code_cache

# Without reference counts: these functions allocate nothing, and counting costs more than a lookup.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}


class Native:
    """A function of this package that numba compiles on its first call."""

    def __init__(self, function: Callable[..., Any], **more: bool) -> None:
        """function: must not create arrays. more: options of numba.njit."""
        self._function, self._options = function, _OPTIONS | more
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function."""
        return self.compiled(*arguments)

    @cached_property
    def compiled(self) -> Any:
        """What numba makes of it, and of all such functions that its module knows."""
        import numba

        compiled: Any = numba.njit(**self._options)(self._function)
        vars(self)["compiled"] = compiled  # for those that call it, and that it calls
        names = self._function.__globals__
        names |= {name: value.compiled for name, value in names.items() if type(value) is Native}
        if hasattr(compiled, "py_func"):  # else NUMBA_DISABLE_JIT is set
            sources = _folder_digest(Path(self._function.__code__.co_filename).parent)
            if sources is not None:
                # As in Dispatcher.enable_caching, which can set only numba's own cache.
                compiled._cache = _KeptCode(compiled, sources)
        return compiled


def native(function: Callable[..., Any], **more: bool) -> Any:
    """The function, compiled on its first call; see Native."""
    return Native(function, **more)


inlined = partial(native, forceinline=True)
"""As `native`, and inlined into each caller: to pass arrays costs more than a lookup."""


def elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function of numbers one of arrays, element by element, compiled on its first call."""

    @cache
    def compiled() -> Callable[..., Any]:
        import numba

        made: Callable[..., Any] = numba.vectorize(function)  # type: ignore[no-untyped-call]
        return made

    def call(*arrays: Any) -> Any:
        return compiled()(*arrays)

    return call


@cache
def _folder_digest(folder: Path) -> bytes | None:
    """A digest of all Python sources of a folder; None if they cannot be read.

    Compiled code may inline any of them.
    """
    digest = sha256()
    try:
        for path in sorted(folder.glob("*.py")):
            content = path.read_bytes()
            digest.update(f"{path.name} {len(content)}\n".encode())
            digest.update(content)
    except OSError:
        return None
    return digest.digest()


class _KeptCode:
    """The machine code of one function on disk; a dispatcher's cache in place of numba's."""

    cache_path = None

    def __init__(self, dispatcher: Any, sources: bytes) -> None:
        import llvmlite
        import numba

        function = dispatcher.py_func
        self._name = function.__name__
        code, cells = function.__code__, function.__closure__ or ()
        self._identity = (
            function.__module__,
            function.__qualname__,
            sha256(code.co_code).hexdigest(),
            [repr(cell.cell_contents) for cell in cells],
            sources.hex(),
            sorted(dispatcher.targetoptions.items()),
            (numba.__version__, llvmlite.__version__, sys.version),
        )

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The compiled function for these argument types; None if it is not on disk."""
        target.refresh()
        from numba.core.compiler import CompileResult

        content = code_cache.read(self._key(signature, target.codegen()))
        rebuild: Any = CompileResult._rebuild
        return content and rebuild(target, *pickle.loads(content))

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep a compiled function, unless it holds addresses of this process."""
        from numba.core import serialize

        if not result.library.has_dynamic_globals:
            dump: Callable[[Any], bytes] = serialize.dumps
            code_cache.keep(self._key(signature, result.codegen), dump(result._reduce()))

    def _key(self, signature: Any, codegen: Any) -> str:
        return f"numba {self._name} {(self._identity, str(signature), codegen.magic_tuple())!r}"
