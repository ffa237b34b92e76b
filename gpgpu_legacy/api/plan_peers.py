"""The peers of a plan, from a Python file of somebody's own.

Every public class of the file is a peer; the class's name is the peer's. It is constructed with
those of the plan's inputs (float32 arrays) and parameters that its constructor names, and is then
what measure/peers.py calls a PeerRun.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from gpgpu_legacy.algorithms.user_code import guarded, module_of, running
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.measure.peers import OpenPeer, PeerRun

METHODS = ("start", "compute", "outputs")


def read_peers(what: str) -> dict[str, OpenPeer]:
    """The peers of FILE.py, by name, in its order, or the one of FILE.py:NAME.

    The file's code is executed. Raises InputError for a file without peers, for a class that is
    none, and for code that fails.
    """
    name, colon, chosen = what.partition(".py:")
    file = Path(f"{name}.py" if colon else what)
    if file.suffix != ".py":
        raise InputError(f"{file} holds no peers; give a Python file with a class for each")
    module = module_of(file)
    classes = {
        name: value
        for name, value in vars(module).items()
        if name[0] != "_" and isinstance(value, type) and value.__module__ == module.__name__
    }
    if not classes:
        raise InputError(f"{file} has no public class; write one for each peer")
    if chosen:
        if chosen not in classes:
            raise InputError(f"{file} has no peer {chosen}; it has {', '.join(classes)}")
        classes = {chosen: classes[chosen]}
    for name, kind in classes.items():
        missing = [method for method in METHODS if not callable(getattr(kind, method, None))]
        if missing:
            raise InputError(
                f"{file}: {name} has no {missing[0]}(); a peer has {', '.join(METHODS)}"
            )
    return {name: partial(_opened, kind, file) for name, kind in classes.items()}


def _opened(
    kind: Callable[..., object],
    file: Path,
    inputs: Mapping[str, F32],
    parameters: Mapping[str, Any],
) -> PeerRun:
    known = {**parameters, **inputs}
    wanted = inspect.signature(kind).parameters.values()
    needed = [p.name for p in wanted if p.default is p.empty and p.name not in known]
    if needed:
        name = getattr(kind, "__name__", "the peer")
        raise InputError(f"{file}: {name} asks for {needed[0]}; the plan has {', '.join(known)}")
    with running(file):
        peer = kind(**{p.name: known[p.name] for p in wanted if p.name in known})
    # What its methods raise becomes one line with the place in the file.
    run: PeerRun = SimpleNamespace(**{name: guarded(getattr(peer, name), file) for name in METHODS})
    return run
