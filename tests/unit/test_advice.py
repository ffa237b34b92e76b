"""What `doctor` advises, on each operating system."""

from __future__ import annotations

import platform

import pytest

from gpgpu_legacy.errors import ExecutorUnavailableError
from gpgpu_legacy.runtime.gl import core


class _Context:
    """A context of macOS, as far as it is asked about."""

    version_code = 410


@pytest.mark.parametrize(
    ("system", "words"),
    [("Darwin", "macOS"), ("Windows", "opengl32.dll"), ("Linux", "apt install")],
)
def test_executors_give_the_advice_for_the_system(
    system: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(core, "context", _Context)
    with pytest.raises(ExecutorUnavailableError, match=r"need OpenGL 4.3 .* gives 4.1") as missing:
        core.compute_context()
    assert words in str(missing.value)
