"""What `doctor` advises, on each operating system."""

from __future__ import annotations

import ctypes
import platform
from typing import Any

import pytest

from gpgpu_legacy.errors import ExecutorUnavailableError
from gpgpu_legacy.runtime import egl, gl
from gpgpu_legacy.runtime.advice import Need, advice


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


@pytest.mark.parametrize("need", Need)
@pytest.mark.parametrize("system", ["Darwin", "Windows"])
def test_no_other_system_is_told_of_packages_of_linux(need: Need, system: str) -> None:
    said = advice(need, system)
    assert not [word for word in ("apt", "dnf", "libegl1", "install a driver,") if word in said]
    assert "\n" not in said and not said.endswith(".")


def test_macos_is_told_that_compute_shaders_cannot_be_had() -> None:
    said = advice(Need.COMPUTE_SHADERS, "Darwin")
    assert "OpenGL 4.1" in said and "no compute shaders" in said and "CPU" in said
    assert "EGL" in advice(Need.FRAGMENT_PROGRAMS, "Darwin")


def test_windows_is_told_of_drivers_and_libraries() -> None:
    said = advice(Need.OPENGL, "Windows")
    assert "driver" in said and "opengl32.dll" in said
    assert "EGL" in advice(Need.FRAGMENT_PROGRAMS, "Windows")


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
    monkeypatch.setattr(gl, "context", _Context)
    with pytest.raises(ExecutorUnavailableError, match=r"need OpenGL 4.3 .* gives 4.1") as missing:
        gl.compute_context()
    assert words in str(missing.value)


def test_a_system_without_egl_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise OSError(f"{name}: no such library")

    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(ExecutorUnavailableError, match="macOS has no EGL"):
        egl.load_egl()
