"""What `doctor` advises, on each operating system."""

from __future__ import annotations

import platform

import pytest

from gpgpu_legacy.errors import ExecutorUnavailableError
from gpgpu_legacy.runtime.gl import core
from gpgpu_legacy.runtime.gl.egl import Need, advice


@pytest.mark.parametrize(
    ("distributions", "command"),
    [
        ((), "apt install libegl1 libgl1-mesa-dri"),
        (("debian",), "apt install libegl1 libgl1-mesa-dri"),
        (("linuxmint", "ubuntu", "debian"), "apt install libegl1 libgl1-mesa-dri"),
        (("fedora",), "dnf install mesa-libEGL mesa-dri-drivers"),
        (("rocky", "rhel", "centos", "fedora"), "dnf install mesa-libEGL mesa-dri-drivers"),
        (("manjaro", "arch"), "pacman -S mesa"),
        (("opensuse-tumbleweed", "opensuse", "suse"), "zypper install Mesa-libEGL1 Mesa-dri"),
    ],
)
@pytest.mark.parametrize("need", Need)
def test_linux_installs_mesa(need: Need, distributions: tuple[str, ...], command: str) -> None:
    assert advice(need, "Linux", distributions).endswith(f"as in: {command}")


class _Context:
    """A context of macOS, as far as it is asked about."""

    version_code = 410


@pytest.mark.parametrize(
    ("system", "words"), [("Darwin", "macOS"), ("Windows", "opengl32.dll"), ("Linux", "as in: ")]
)
def test_executors_give_the_advice_for_the_system(
    system: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(core, "context", _Context)
    with pytest.raises(ExecutorUnavailableError, match=r"need OpenGL 4.3 .* gives 4.1") as missing:
        core.compute_context()
    assert words in str(missing.value)
