"""`gpgpu-legacy`, and `python -m gpgpu_legacy`: the command line."""

import gc
import sys


def main() -> None:
    """Run the command line. An interrupt ends it with one line, even during its imports."""
    gc.disable()  # imported modules stay: collecting them, now and later, is slow
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
