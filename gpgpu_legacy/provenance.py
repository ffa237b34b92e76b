"""Which gpgpu_legacy made a result: the version of the package, and the commit of its checkout."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def package_version() -> str | None:
    """The version of gpgpu_legacy; None where it runs without being installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("gpgpu-legacy")
    except PackageNotFoundError:
        return None


def checkout() -> Path | None:
    """The checkout of the project that the package runs from; None where it is installed."""
    root = Path(__file__).resolve().parent.parent
    return root if (root / ".git").exists() else None


@cache
def commit() -> str | None:
    """The commit of the checkout that the package runs from; None where it is installed."""
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
