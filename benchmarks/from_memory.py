"""Record the bytes that every method fetches through one cache: from_memory.py FILE [N]."""

from __future__ import annotations

import sys
from pathlib import Path

from gpgpu_legacy.algorithms.registry import products
from gpgpu_legacy.serial import provenance, write_json
from gpgpu_legacy.studies.lineage import LineageMemory, bytes_from_memory
from gpgpu_legacy.studies.shared.sweep import sweep, workers

CACHE = "8K,fully,64B"  # with few ways, a power of two is the worst n, but of some methods only


def main(path: Path, size: int) -> None:
    """Write the record."""
    names = [method.name for method in products()]
    with workers() as pool:
        cases = [(name, size, CACHE) for name in names]
        found = sweep(bytes_from_memory, cases, pool, lambda *done: print(*done, flush=True))
    by_method = dict(zip(names, found, strict=True))
    write_json(path, LineageMemory(**provenance(), size=size, cache=CACHE, from_memory=by_method))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int((*sys.argv[2:], 1024)[0]))
