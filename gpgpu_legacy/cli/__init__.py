"""The command line, `gpgpu-legacy`."""

from __future__ import annotations

import functools
import sys

import typer

from gpgpu_legacy.cli import (
    anomaly,
    audit,
    bench,
    cache,
    cache_table,
    chips,
    figures,
    lineage,
    machines,
    precision,
    predict,
    products,
    programs,
    tables,
)
from gpgpu_legacy.cli.shared import app
from gpgpu_legacy.errors import GpgpuLegacyError

__all__ = [
    "anomaly", "app", "audit", "bench", "cache", "cache_table", "chips", "figures", "lineage",
    "machines", "main", "precision", "predict", "products", "programs", "tables",
]  # fmt: skip


_command_of = functools.cache(typer.main.get_command)


def main() -> None:
    """Run the command line; a user's error is one line and exit code 2."""
    command = _command_of(app)
    try:
        sys.exit(command.main(standalone_mode=False))
    except GpgpuLegacyError as error:
        _fail(str(error))
    except MemoryError as error:
        _fail(f"this machine has too little memory for that ({error}); try a smaller --size")
    except (KeyboardInterrupt, typer.Abort):
        print("gpgpu-legacy: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except Exception as error:
        message = getattr(error, "format_message", None)  # what the option parser raises
        if message is None:
            raise
        _fail(" ".join(message().split()) or command.get_usage(command.make_context("", [])))


def _fail(message: str) -> None:
    print(f"gpgpu-legacy: {message}", file=sys.stderr)
    sys.exit(2)
