"""`gpgpu-legacy`, and `python -m gpgpu_legacy`: the command line, which a signal may end any time.

Little is imported before the signals are taken care of.
"""

from gpgpu_legacy.ending import end_on_signals


def main() -> None:
    """Run the command line."""
    end_on_signals()
    import gc

    gc.disable()  # what is imported stays: looking through it takes a twentieth of `--help`
    from gpgpu_legacy.cli import main as run

    run()


if __name__ == "__main__":
    main()
