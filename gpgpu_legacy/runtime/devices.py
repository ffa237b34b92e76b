"""The names of devices, and the number of processors."""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path

_SOFTWARE_RENDERERS = ("llvmpipe", "softpipe", "swrast", "swiftshader", "software")


def is_gpu(renderer: str) -> bool:
    """Whether a renderer, by its OpenGL name, is a GPU, that is, not a known software renderer."""
    return not any(name in renderer.lower() for name in _SOFTWARE_RENDERERS)


@cache
def processor_name() -> str:
    """The processor's model name, or the architecture if the system does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    name = models[0] if models else platform.processor() or platform.machine()
    return f"{name} (CPU)"


def thread_count() -> int:
    """The number of processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def processor() -> str:
    """The processor's name and the number of threads that this process may use on it."""
    threads = thread_count()
    return f"{processor_name()}, {threads} thread{'s' * (threads > 1)}"


_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_LIKELY_CACHE_BYTES = {1: 32 << 10, 2: 1 << 20}


@cache
def cache_bytes(level: int) -> int:
    """Bytes of a processor's own data cache of level 1 or 2; a guess if the system does not say."""
    for folder in _CACHES.glob("index*"):
        try:
            cache_level, kind, size, shared = (
                (folder / name).read_text("ascii").strip()
                for name in ("level", "type", "size", "shared_cpu_map")
            )
        except (OSError, UnicodeDecodeError):
            continue
        if cache_level == str(level) and kind != "Instruction" and size.endswith("K"):
            sharers = int(shared.replace(",", ""), 16).bit_count()
            return (int(size[:-1]) << 10) // max(1, sharers)
    return _LIKELY_CACHE_BYTES[level]
