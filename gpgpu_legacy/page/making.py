"""Makes the sections of the page in two processes: the slowest in one, all others in the other."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Sequence

from gpgpu_legacy.page.section import PageSection
from gpgpu_legacy.page.sections import check_name, section_of

_SLOW = ("loaded", "cache", "exercises")  # the exercises also use what loads

_CODE = f"from {__name__} import send; send()"


def sections_of(names: Sequence[str]) -> list[PageSection]:
    """The sections of these names. Raises InputError for an unknown name."""
    for name in names:
        check_name(name)
    slow = [name for name in names if name in _SLOW]
    if len(slow) in (0, len(names)):
        return [section_of(name) for name in names]
    command = [sys.executable, "-P", "-c", _CODE, *slow]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        made = {name: section_of(name) for name in names if name not in slow}
        sent, _ = process.communicate()
    # If the other process fails, they are made here, so that the error is reported here.
    others = map(section_of, slow) if process.returncode else pickle.loads(sent)
    made |= dict(zip(slow, others, strict=True))
    return [made[name] for name in names]


def send() -> None:
    """Write the sections that the arguments name to standard output."""
    pickle.dump([section_of(name) for name in sys.argv[1:]], sys.stdout.buffer)
