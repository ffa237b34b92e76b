"""`gpgpu-legacy`, and `python -m gpgpu_legacy`: the command line."""

import gc
import sys


def main() -> None:
    """Run the command line; an interrupt, even while it is imported, is one line."""
    gc.set_threshold(10_000)  # what is imported and compiled stays: no need to look at it often
    try:
        from gpgpu_legacy.cli import main as run

        run()
    except KeyboardInterrupt:
        print("gpgpu-legacy: interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
