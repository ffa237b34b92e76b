"""`gpgpu-legacy`, and `python -m gpgpu_legacy`: the command line."""

import gc
import sys


def main() -> None:
    """Run the command line; an interrupt, even while it is imported, is one line."""
    gc.disable()  # what is imported stays: looking through it, now and later, takes long
    try:
        from gpgpu_legacy.cli import main as run

        gc.freeze()
        gc.enable()
        run()
    except KeyboardInterrupt:
        print("gpgpu-legacy: interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
