"""Files that are either the old one or the new one, never half of one.

A regular file is written beside its place, under another name, and renamed into it. What is no
regular file has no old content to lose, and is written through: a pipe, a device, and whatever
/dev/stdout and its like stand for. A link stays a link: what it points to is written.

A writer that was killed leaves its temporary file behind; the next writer of the same name removes
it. Which files those are is told by a lock: a living writer holds one on its own, and a lock ends
with its process, however that ends. Start at `write_atomically`.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import re
import stat
import sys
import tempfile
import time

try:
    import fcntl
except ImportError:  # Windows, where nobody can remove a file that another has open
    fcntl = None  # type: ignore[assignment]

_LINKS = 40  # that the system follows at most
_OLD = 86_400.0  # seconds; where files cannot be locked, no writer takes as long

_REASONS = {
    errno.ENOTDIR: "there is a file where a folder is named",
    errno.EISDIR: "is a folder; name a file",
    errno.ELOOP: "is a link that leads back to itself; remove it, or name another file",
    errno.ENAMETOOLONG: "the name is too long for this system; choose a shorter one",
    errno.EACCES: "you may not write there; name another folder",
    errno.EPERM: "you may not write there; name another folder",
    errno.EROFS: "nothing can be written there (a read-only file system); name another folder",
    errno.ENOSPC: "there is no room left; make some, or name another folder",
    errno.EDQUOT: "there is no room left for you; make some, or name another folder",
    errno.EFBIG: "the file would be larger than is allowed here",
}


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file, text as UTF-8: a kill at any moment leaves the old or the new one, whole."""
    name = os.fspath(path)
    data = content if isinstance(content, bytes) else content.encode()
    if not name:
        raise FileNotFoundError(errno.ENOENT, "the path is empty; name a file", name)
    if not os.path.basename(name):
        raise IsADirectoryError(errno.EISDIR, "this names a folder, not a file", name)
    folder = os.path.dirname(os.path.realpath(name))
    if not os.path.exists(folder):
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", folder)
    try:
        descriptor, mode = _own_descriptor(name), _mode_of(name)
        if descriptor is not None:
            with os.fdopen(os.dup(descriptor), "wb", buffering=0) as stream:
                _write_all(stream, data)
        elif mode is None or stat.S_ISREG(mode):
            _replace(os.path.realpath(name), data)
        else:
            with open(name, "wb", buffering=0) as stream:  # a folder is refused here
                _write_all(stream, data)
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, _REASONS.get(error.errno, error.strerror), name) from None


def would_overwrite(path: str | os.PathLike[str]) -> bool:
    """Tell whether there is a file that would be lost; a pipe or a device has nothing to lose."""
    name = os.fspath(path)
    return os.path.isfile(name) and _own_descriptor(name) is None


def _mode_of(name: str) -> int | None:
    """Tell what is at the end of all links, None for nothing yet."""
    try:
        return os.stat(name).st_mode
    except FileNotFoundError:
        return None


# ---- what is no regular file ------------------------------------------------------------------


def _own_descriptor(name: str) -> int | None:
    """Return the number of our own open file that a path stands for, as /dev/stdout does.

    Opened by its path, a file that the output goes to would be written from its beginning; renamed
    over, it would no longer be the one that the output goes to.
    """
    own = re.compile(rf"/dev/fd|/proc/{os.getpid()}(/task/\d+)?/fd")
    for _ in range(_LINKS):
        folder, last = os.path.split(name)
        folder = os.path.realpath(folder)
        if last.isdecimal() and own.fullmatch(folder):
            return int(last)
        try:
            name = os.path.join(folder, os.readlink(os.path.join(folder, last)))
        except OSError:  # no link
            break
    return None


def _write_all(stream: io.FileIO, data: bytes) -> None:
    for text in (sys.stdout, sys.stderr):  # what was printed before comes before
        with contextlib.suppress(AttributeError, ValueError):  # there is none, or it is closed
            text.flush()
    rest = memoryview(data)
    while rest:
        rest = rest[stream.write(rest) :]


# ---- regular files ----------------------------------------------------------------------------


def _replace(target: str, data: bytes) -> None:
    folder, name = os.path.split(target)
    # By its digest, because the name itself may be as long as names can be.
    prefix = f".minigrad-{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}-"
    _remove_abandoned(folder, prefix)
    descriptor, temporary = _temporary(folder, prefix)
    stream = os.fdopen(descriptor, "wb")
    try:
        stream.write(data)
        stream.flush()
        _take_after(target, temporary)
        os.fsync(descriptor)
        if fcntl is None:
            stream.close()  # Windows renames no file that is open; elsewhere it stays locked
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            stream.close()
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    stream.close()


def _temporary(folder: str, prefix: str) -> tuple[int, str]:
    """Make a file that is ours, and locked as long as it is open."""
    while True:
        descriptor, temporary = tempfile.mkstemp(".tmp", prefix, folder)
        if fcntl is None:
            return descriptor, temporary
        with contextlib.suppress(OSError):  # locks are not to be had everywhere
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor, temporary
        os.close(descriptor)  # removed as abandoned, in the moment between making and locking it


def _remove_abandoned(folder: str, prefix: str) -> None:
    """Remove what writers of the same name left behind that were killed."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(prefix) and entry.name.endswith(".tmp"):
                with contextlib.suppress(OSError):
                    _remove_if_abandoned(entry.path)


def _remove_if_abandoned(temporary: str) -> None:
    if fcntl is None:
        if time.time() - os.lstat(temporary).st_mtime > _OLD:
            os.unlink(temporary)
        return
    # A link is not followed, and a pipe not waited for.
    descriptor = os.open(temporary, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        is_ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        if is_ours and _is_abandoned(descriptor, time.time() - status.st_mtime):
            os.unlink(temporary)
    finally:
        os.close(descriptor)


def _is_abandoned(descriptor: int, age: float) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False  # its writer lives
    except OSError:
        return age > _OLD  # there are no locks here
    return True


def _take_after(target: str, temporary: str) -> None:
    """Give the new file the owner and the permissions of the old one, or those of any new file."""
    try:
        old = os.stat(target)
    except FileNotFoundError:
        os.chmod(temporary, 0o666 & ~_umask())
        return
    if hasattr(os, "chown"):
        with contextlib.suppress(PermissionError):  # only the superuser gives files away
            os.chown(temporary, old.st_uid, old.st_gid)
    os.chmod(temporary, stat.S_IMODE(old.st_mode))


def _umask() -> int:
    """Read the process's mask; the only way to read it is to set it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
