"""The places of results: whether a file can be written there, and what it takes over.

Nothing here writes. What can be found out before hours of work is found out before.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gpgpu_legacy.drafts import draft_file
from gpgpu_legacy.errors import InputError

_LINKS = 40
"""How many links one after another a path is followed through; Linux follows as many."""

_FILES_OF_A_PROCESS = re.compile(r"/proc/[0-9]+(/task/[0-9]+)?/fd|/dev/fd")
"""The folders whose links are open files, such as what /dev/stdout stands for."""

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}

_ACL = "system.posix_acl_access"
_GET_FLAGS, _APPEND_ONLY = 0x80086601, 0x20  # of Linux: FS_IOC_GETFLAGS, FS_APPEND_FL


@dataclass(frozen=True, slots=True)
class Target:
    """The file that a path names, behind all links. status: None where there is no such file."""

    path: Path
    status: os.stat_result | None

    @property
    def mode(self) -> int:
        """The permissions of what is written there."""
        return 0o666 if self.status is None else self.status.st_mode & 0o777

    def give_over(self, draft: Path) -> None:
        """Make a draft what the file is that it replaces, as far as the system permits it.

        Where the group cannot be kept, the new one may do no more than everybody may.
        """
        if self.status is None:
            return
        mode, keeps_group = self.mode, _give_owner(draft, self.status)
        if not keeps_group:
            mode &= 0o707 | (mode & 0o007) << 3
        _copy_attributes(self.path, draft, with_acl=keeps_group)
        draft.chmod(mode)


def target_of(path: Path) -> Target:
    """Where a file of this path goes; InputError, or what the system raises, if it cannot."""
    if "\0" in str(path):
        raise InputError("no file's name has a zero byte in it; give another name")
    if _is_stream(path):
        _refuse(path, "a stream")
    target = Path(os.path.realpath(path))
    folder = target.parent if path.is_symlink() else path.parent
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; {path.name} needs a folder to be written to")
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; make it first")
    status = _status(target)
    if status is not None:
        _check_replaceable(path, target, status)
    if not can_make_files(target.parent):
        raise InputError(f"the folder {folder} cannot be written to; choose another one")
    return Target(target, status)


def _status(target: Path) -> os.stat_result | None:
    try:
        return target.stat()
    except FileNotFoundError:
        return None


def can_make_files(folder: Path) -> bool:
    """Whether files can be made, renamed and removed in a folder; it is tried without a trace."""
    if not _may_write(folder, os.W_OK | os.X_OK) or _is_append_only(folder):
        return False
    try:
        _try_file(folder)
    except OSError as error:
        if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
            return False
        raise
    return True


def _try_file(folder: Path) -> None:
    """Make a file without a name, or one with the name of a draft; OSError where that fails."""
    if hasattr(os, "O_TMPFILE"):
        with suppress(FileNotFoundError, IsADirectoryError, _NotSupportedError):
            os.close(_unnamed(folder))
            return
    with draft_file(folder):
        pass


class _NotSupportedError(Exception):
    """The file system has no files without names."""


def _unnamed(folder: Path) -> int:
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600)
    except OSError as error:
        if error.errno in {errno.EOPNOTSUPP, errno.EINVAL}:
            raise _NotSupportedError from None
        raise


def _check_replaceable(path: Path, target: Path, status: os.stat_result) -> None:
    """InputError where a new file cannot, or should not, take the place of what is there."""
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFDIR:
        raise InputError(f"{path} is a folder; give the name of a file")
    if kind != stat.S_IFREG:
        _refuse(path, _KINDS.get(kind, "something else"))
    if not _may_write(target, os.W_OK) or _is_append_only(target):
        raise InputError(
            f"{path} is write-protected; give another name, or permit writing to it first"
        )
    if _is_kept_by_folder(target, status):
        raise InputError(f"{path} is another user's in a shared folder; give another name")
    if _is_mounted(target):
        raise InputError(
            f"{path} is mounted by itself, so that it cannot be replaced; mount its folder"
        )


def _refuse(path: Path, kind: str) -> None:
    raise InputError(
        f"{path} is {kind}; give the name of a file, or redirect what the command prints"
    )


def _is_stream(path: Path) -> bool:
    """Whether a path names a file that a process has open, as /dev/stdout does."""
    for _ in range(_LINKS):
        folder = os.path.realpath(path.parent)
        if _FILES_OF_A_PROCESS.fullmatch(folder):
            return True
        if not path.is_symlink():
            return False
        path = Path(folder, path.readlink())
    return False


def _may_write(path: Path, mode: int) -> bool:
    """Whether the effective user has this access; a file system that is read-only gives none."""
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _is_append_only(path: Path) -> bool:
    """Whether what is there may only grow, by a flag that not even root is exempt from."""
    try:
        from fcntl import ioctl

        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except (ImportError, OSError):
        return False
    try:
        flags = ioctl(number, _GET_FLAGS, bytes(8))
    except OSError:  # a file system without flags
        return False
    finally:
        os.close(number)
    return bool(flags[0] & _APPEND_ONLY)


def _is_kept_by_folder(target: Path, status: os.stat_result) -> bool:
    """Whether a sticky folder, such as /tmp, lets only another user replace the file."""
    if not hasattr(os, "geteuid"):
        return False
    folder = target.parent.stat()
    is_sticky = bool(folder.st_mode & stat.S_ISVTX)
    return is_sticky and os.geteuid() not in {0, folder.st_uid, status.st_uid}


def _is_mounted(target: Path) -> bool:
    """Whether a file is a mount of its own, as containers make of single files."""
    try:
        mounts = Path("/proc/self/mountinfo").read_bytes()
    except OSError:
        return False
    spelled = re.sub(rb"[ \t\n\\]", lambda byte: b"\\%03o" % ord(byte[0]), os.fsencode(target))
    return any(line.split(b" ")[4] == spelled for line in mounts.splitlines())


def _give_owner(draft: Path, status: os.stat_result) -> bool:
    """Give a draft an owner and a group, or the group alone; whether it has the group."""
    ours = draft.stat()
    if (ours.st_uid, ours.st_gid) == (status.st_uid, status.st_gid) or not hasattr(os, "chown"):
        return True
    for user in (status.st_uid, -1):
        with suppress(OSError):
            os.chown(draft, user, status.st_gid)
            return True
    return False


def _copy_attributes(file: Path, draft: Path, *, with_acl: bool) -> None:
    """Give a draft the user's extended attributes, and the access control list, of a file."""
    if not hasattr(os, "listxattr"):
        return
    names, has = _attributes(file), _attributes(draft)
    if _ACL in has and (_ACL not in names or not with_acl):  # from the defaults of the folder
        with suppress(OSError):
            os.removexattr(draft, _ACL)
    for name in names:
        if name.startswith("user.") or (name == _ACL and with_acl):
            with suppress(OSError):
                os.setxattr(draft, name, os.getxattr(file, name))


def _attributes(path: Path) -> list[str]:
    try:
        return os.listxattr(path)
    except OSError:  # a file system without them
        return []
