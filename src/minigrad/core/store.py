"""A folder of the user's own where work is kept that can be done again: bytes by key.

    keep(key, content)      # if it can be kept; nobody is told if not
    recall(key)             # the content, or None
    survey(), clear()       # for `minigrad cache`

Nothing here may ever cost more than the work that it saves, or be wrong. So whatever is not as it
should be is a miss: no home, a full disk, a folder of somebody else's, half a file, a file under
another's name. A file begins with the digest of its key and content. It is written under a name of
its own and then renamed, so that any number of processes may write and read at once. Without
`fsync`: a file that a power cut has left empty has another digest.

Only the owner may enter the folder (0700). Whoever can write there can run programs as the owner
anyway, so the digest is against accidents, not against them; and what a machine loads from a file
is checked by the machine once more.

$MINIGRAD_CACHE names another folder, or is 0 to keep nothing. It is looked at each time, and no
file stays open: forks and threads have nothing to share here.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from typing import NamedTuple

LIMIT = 250_000_000  # bytes of all files: thousands of programs of a small GPT
LARGEST = LIMIT // 8  # of one file: a larger one would push too many of the others out
_KEPT = 0.75  # of the limit is left after a removal, so that the next is not due at once
_LOOKED_AT = LIMIT // 256  # a file larger than this has the folder looked through for what is old
_ABANDONED = 3600.0  # seconds after which a file that was never renamed has no writer any more

_MAGIC = b"minigrad store 1\n"
_DIGEST = 32
_HEAD = len(_MAGIC) + _DIGEST
_FOLDER = "programs"  # inside the cache folder, made by us and nobody else
_SUFFIX = ".kept"
_TEMPORARY = ".part"
_OFF = ("0", "off")


class Survey(NamedTuple):
    """What there is."""

    folder: str | None  # None: nothing is kept
    problem: str  # why nothing can be kept, if so
    files: int
    size: int  # of all of them, in bytes
    limit: int


class _File(NamedTuple):
    name: str
    size: int
    used: float  # when it was read or written last


def folder() -> str | None:
    """Name the folder; None if nothing is to be kept, or if there is no home to keep it in."""
    wanted = os.environ.get("MINIGRAD_CACHE", "")
    if wanted.lower() in _OFF or not hasattr(os, "geteuid"):
        return None
    if not wanted:
        base = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(base):  # as the standard says: anything else is not to be used
            base = os.path.join(os.path.expanduser("~"), ".cache")
        wanted = os.path.join(base, "minigrad")
    path = os.path.join(os.path.expanduser(wanted), _FOLDER)
    return path if os.path.isabs(path) else None


def recall(key: str) -> bytes | None:
    """Return what was kept under a key, or None; a file that is not whole is None."""
    with contextlib.suppress(OSError), _opened(create=False) as inside:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(key + _SUFFIX, flags, dir_fd=inside)
        with os.fdopen(descriptor, "rb", buffering=0) as stream:
            status = os.fstat(descriptor)
            if not _is_own_file(status) or not _HEAD <= status.st_size <= LARGEST + _HEAD:
                return None
            data = stream.read(status.st_size + 1)
        if data[:_HEAD] != _MAGIC + _digest(key, data[_HEAD:]):
            return None
        with contextlib.suppress(OSError):  # a file system that is read-only has no latest use
            os.utime(key + _SUFFIX, dir_fd=inside, follow_symlinks=False)
        return data[_HEAD:]
    return None


def keep(key: str, content: bytes) -> None:
    """Keep something under a key of letters and digits, if that is possible."""
    if len(content) > LARGEST:
        return
    with contextlib.suppress(OSError), _opened(create=True) as inside:
        _write(inside, key + _SUFFIX, _MAGIC + _digest(key, content) + content)
        # Keys are digests, so that one in sixteen ends in 0: looking takes longer than writing.
        if key.endswith("0") or len(content) > _LOOKED_AT:
            _remove_old(inside)


def forget(key: str) -> None:
    """Remove what was kept under a key."""
    with contextlib.suppress(OSError), _opened(create=False) as inside:
        os.unlink(key + _SUFFIX, dir_fd=inside)


def survey() -> Survey:
    """Tell what is kept, and where; or why nothing is."""
    path, problem = folder(), ""
    files: list[_File] = []
    if path is not None:
        try:
            with _opened(create=False) as inside:
                files = [file for file in _files(inside) if file.name.endswith(_SUFFIX)]
        except FileNotFoundError:
            pass  # nothing was kept so far
        except OSError as error:
            problem = error.strerror or type(error).__name__
    return Survey(path, problem, len(files), sum(file.size for file in files), LIMIT)


def clear() -> Survey:
    """Remove everything that is kept; tell what that was. An error says what cannot be removed."""
    found = survey()
    with contextlib.suppress(FileNotFoundError), _opened(create=False) as inside:
        for file in _files(inside):
            with contextlib.suppress(FileNotFoundError):  # somebody else was faster
                os.unlink(file.name, dir_fd=inside)
    return found


# ---- the folder ----------------------------------------------------------------------------------


@contextlib.contextmanager
def _opened(create: bool) -> Iterator[int]:
    """Open the folder, which has to be ours alone; an OSError says why there is none."""
    path = folder()
    if path is None:
        raise FileNotFoundError(errno.ENOENT, "nothing is to be kept")
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        inside = os.open(path, flags)
    except FileNotFoundError:
        if not create:
            raise
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
        inside = os.open(path, flags)
    try:
        status = os.fstat(inside)
        if status.st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "it belongs to another user", path)
        if stat.S_IMODE(status.st_mode) & 0o077:
            what = "others may enter it; make it private with chmod 700"
            raise PermissionError(errno.EPERM, what, path)
        yield inside
    finally:
        os.close(inside)


def _is_own_file(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()


def _digest(key: str, content: bytes) -> bytes:
    found = hashlib.blake2b(key.encode() + b"\0", digest_size=_DIGEST)
    found.update(content)
    return found.digest()


def _write(inside: int, name: str, data: bytes) -> None:
    temporary = f"{os.getpid():x}-{time.time_ns():x}-{os.urandom(4).hex()}{_TEMPORARY}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600, dir_fd=inside)
    try:
        with os.fdopen(descriptor, "wb", buffering=0) as stream:
            rest = memoryview(data)
            while rest:
                rest = rest[stream.write(rest) :]
        os.rename(temporary, name, src_dir_fd=inside, dst_dir_fd=inside)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=inside)
        raise


def _files(inside: int) -> list[_File]:
    found = []
    with os.scandir(inside) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):  # removed meanwhile
                status = entry.stat(follow_symlinks=False)
                if not stat.S_ISDIR(status.st_mode):
                    found.append(_File(entry.name, status.st_size, status.st_mtime))
    return found


def _remove_old(inside: int) -> None:
    """Remove what was not used for longest, if there is too much, and what killed writers left."""
    now, kept = time.time(), []
    for file in _files(inside):
        if file.name.endswith(_TEMPORARY):
            if now - file.used > _ABANDONED:
                with contextlib.suppress(OSError):
                    os.unlink(file.name, dir_fd=inside)
        elif file.name.endswith(_SUFFIX):
            kept.append(file)
    size = sum(file.size for file in kept)
    if size <= LIMIT:
        return
    for file in sorted(kept, key=lambda file: file.used):
        if size <= _KEPT * LIMIT:
            return
        with contextlib.suppress(OSError):  # somebody else was faster
            os.unlink(file.name, dir_fd=inside)
        size -= file.size
