"""Advice for each operating system if OpenGL, or a part of it, is missing.

macOS has OpenGL 2.1 and, in a core profile, 4.1, which is its last and has no compute shaders
(Apple, OpenGL Capabilities Tables). Windows has OpenGL 1.1 of its own; more comes with the driver
of a GPU, or with Mesa's opengl32.dll (github.com/pal1000/mesa-dist-win).
"""

from __future__ import annotations

import platform
from enum import Enum


class Need(Enum):
    """The part of OpenGL that an executor needs."""

    OPENGL = "OpenGL 4.0"
    COMPUTE_SHADERS = "OpenGL 4.3"
    FRAGMENT_PROGRAMS = "GL_ARB_fragment_program, through EGL"


_MESA = {
    "debian": "apt install libegl1 libgl1-mesa-dri",
    "fedora": "dnf install mesa-libEGL mesa-dri-drivers",
    "arch": "pacman -S mesa",
    "suse": "zypper install Mesa-libEGL1 Mesa-dri",
}
_RELATIVES = {"ubuntu": "debian", "rhel": "fedora", "centos": "fedora", "opensuse": "suse"}

_MACOS = {
    Need.OPENGL: "macOS makes a context only for a user who is logged in to its desktop; log in "
    "there, or use the executors of the CPU",
    Need.COMPUTE_SHADERS: "macOS ends at OpenGL 4.1, which has no compute shaders, and nothing can "
    "be installed for it; the executors of the CPU run everything",
    Need.FRAGMENT_PROGRAMS: "macOS has no EGL, and nothing can be installed for it; the other "
    "executors run the same programs",
}
_WINDOWS_DRIVER = (
    "install the GPU's driver from its maker, or put Mesa's opengl32.dll and libgallium_wgl.dll "
    "(github.com/pal1000/mesa-dist-win) beside python.exe"
)
_WINDOWS = {
    Need.OPENGL: f"Windows alone has OpenGL 1.1; {_WINDOWS_DRIVER}",
    Need.COMPUTE_SHADERS: _WINDOWS_DRIVER,
    Need.FRAGMENT_PROGRAMS: "Windows has no EGL for desktop OpenGL, and this executor knows no "
    "other way; the other executors run the same programs",
}
_OTHERS = {
    Need.OPENGL: "install a driver, as in: {mesa}",
    Need.COMPUTE_SHADERS: "install a newer driver, as in: {mesa}",
    Need.FRAGMENT_PROGRAMS: "install the GPU's driver or Mesa's, as in: {mesa}",
}


def advice(need: Need, system: str, distributions: tuple[str, ...] = ()) -> str:
    """Advice if there is no such OpenGL, for the middle of a sentence.

    system: as platform.system() has it. distributions: of Linux, the nearest first, by the ids of
    /etc/os-release; another's packages are named as Debian's are.
    """
    if system == "Darwin":
        return _MACOS[need]
    if system == "Windows":
        return _WINDOWS[need]
    families = (_RELATIVES.get(name, name) for name in distributions)
    family = next((name for name in families if name in _MESA), "debian")
    return _OTHERS[need].format(mesa=_MESA[family])


def advice_here(need: Need) -> str:
    """The advice for this system."""
    return advice(need, platform.system(), _distributions())


def _distributions() -> tuple[str, ...]:
    """The ids of this distribution of Linux, and of those that it is like."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return ()
    return (release.get("ID", ""), *release.get("ID_LIKE", "").split())
