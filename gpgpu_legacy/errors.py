"""The errors that a user of the package can cause.

Every one of them carries a message of one line that says what was wrong, what was expected and
how to mend it; the command line prints that line and exits with code 2.
"""


class GpgpuLegacyError(Exception):
    """Anything a user can cause and mend; the parent of all errors raised on purpose."""


class AssemblyError(GpgpuLegacyError):
    """A fragment program that does not assemble, with the place of the fault in its text."""

    def __init__(self, problem: str, text: str, line: int, column: int, name: str) -> None:
        """Point at `line` and `column` (both from 1) of `text`, the program called `name`."""
        self.problem, self.line, self.column, self.name = problem, line, column, name
        lines = text.split("\n")
        source = lines[min(line, len(lines)) - 1].replace("\r", " ")
        # Tabs stand before the caret too, so that it comes to stand where they put the fault.
        caret = "".join("\t" if c == "\t" else " " for c in source[: column - 1].ljust(column - 1))
        source, caret = source.rstrip(), caret + "^"
        super().__init__(f"{name}:{line}:{column}: {problem}\n  {source}\n  {caret}")


class PlanError(GpgpuLegacyError):
    """A plan that no executor could carry out as it stands."""


class InputError(GpgpuLegacyError):
    """Matrices, files or options that do not fit what was asked for."""


class ExecutorUnavailableError(GpgpuLegacyError):
    """An executor that cannot run on this machine, and why."""
