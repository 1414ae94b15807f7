"""Writing files: whole or not at all, and through what is no file."""

from __future__ import annotations

import ast
import contextlib
import errno
import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from killed_writers import crowded, killed, temporaries

import minigrad
from minigrad.core import files
from minigrad.core.files import write_atomically

posix = pytest.mark.skipif(os.name != "posix", reason="needs pipes, devices and links of Unix")
NOBODY = 65534


def temporary_of(path):
    """A name that a killed writer of this path could have left."""
    digest = hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]
    return path.with_name(f".minigrad-{digest}-abcdefgh.tmp")


# ---- what is no regular file --------------------------------------------------------------------


@posix
@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("size", [0, 5, 300_000])  # more than a pipe holds
def test_a_pipe_is_written_through_and_stays_one(tmp_path, linked, size):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    path = tmp_path / "link"
    path.symlink_to(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_atomically(path if linked else pipe, b"x" * size)
    reader.join()
    assert read == [b"x" * size]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe"]


@pytest.fixture
def device(tmp_path):
    """A device of our own for the superuser, who could destroy the system's; else the system's."""

    def find(name, minor):
        if os.geteuid() != 0:
            return f"/dev/{name}"
        path = tmp_path / name
        try:
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
            path.open("wb").close()
        except OSError as error:
            pytest.skip(f"devices cannot be made or used here ({error.strerror})")
        return str(path)

    if sys.platform != "linux":
        pytest.skip("the numbers of devices are those of Linux")
    return find


def test_devices_stay_devices(tmp_path, device):
    null = device("null", 3)
    link = tmp_path / "picture.svg"
    link.symlink_to(null)
    for path in (null, link):
        write_atomically(path, "nothing")
        assert stat.S_ISCHR(os.stat(path).st_mode)
    assert link.is_symlink()


def test_a_full_device_is_a_sentence(device):
    full = device("full", 7)
    with pytest.raises(OSError, match="there is no room left") as caught:
        write_atomically(full, "x")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, full)


PRINTING = """
import os, sys
from minigrad.core.files import write_atomically
print("before")
write_atomically(sys.argv[1], "written\\n")
print("after")
"""


@posix
@pytest.mark.parametrize("mode", ["w", "a"])
@pytest.mark.parametrize(
    "name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1", "link"]
)
def test_what_stands_for_the_output_is_the_output_wherever_it_goes(tmp_path, name, mode):
    if name.startswith("/proc") and not os.path.exists(name):
        pytest.skip(f"there is no {name} on this system")
    link = tmp_path / "link"
    link.symlink_to("/dev/stdout")
    command = [sys.executable, "-c", PRINTING, str(link) if name == "link" else name]
    out = tmp_path / "out.txt"
    out.write_text("earlier\n")
    with out.open(mode) as stream:
        subprocess.run(command, stdout=stream, check=True)
    assert out.read_text() == ("earlier\n" if mode == "a" else "") + "before\nwritten\nafter\n"
    piped = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    assert piped.stdout == "before\nwritten\nafter\n"
    assert sorted(os.listdir(tmp_path)) == ["link", "out.txt"]


@posix
def test_a_descriptor_of_any_number(tmp_path):
    with (tmp_path / "file").open("wb") as stream:
        stream.write(b"first ")
        stream.flush()
        write_atomically(f"/dev/fd/{stream.fileno()}", "second ")
        stream.write(b"third")
    assert (tmp_path / "file").read_bytes() == b"first second third"
    with pytest.raises(OSError, match=r"Bad file descriptor.*'/dev/fd/") as caught:
        write_atomically("/dev/fd/9999", "x")
    assert caught.value.errno == errno.EBADF


# ---- links and names ----------------------------------------------------------------------------


@posix
def test_a_link_is_kept_and_what_it_points_to_is_written(tmp_path):
    (tmp_path / "folder").mkdir()
    real = tmp_path / "folder" / "real"
    real.write_text("old")
    real.chmod(0o640)
    (tmp_path / "first").symlink_to("folder/real")  # relative
    (tmp_path / "second").symlink_to(tmp_path / "first")
    write_atomically(tmp_path / "second", "new")
    assert (tmp_path / "first").readlink() == Path("folder/real")
    assert (tmp_path / "second").is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    (tmp_path / "dangling").symlink_to("folder/later")
    write_atomically(tmp_path / "dangling", "made")
    assert (tmp_path / "dangling").is_symlink()
    assert (tmp_path / "folder" / "later").read_text() == "made"
    assert sorted(os.listdir(tmp_path / "folder")) == ["later", "real"]


@posix
@pytest.mark.parametrize("links", [{"a": "a"}, {"a": "b", "b": "a"}, {"a": "b/x", "b": "a/y"}])
def test_links_that_lead_back_to_themselves_are_a_sentence(tmp_path, links):
    for name, target in links.items():
        (tmp_path / name).symlink_to(target)
    with pytest.raises(OSError, match="a link that leads back to itself|no such folder") as caught:
        write_atomically(tmp_path / "a", "x")
    assert caught.value.errno in (errno.ELOOP, errno.ENOENT)
    assert sorted(os.listdir(tmp_path)) == sorted(links)


@posix
@pytest.mark.parametrize("name", ["a" * 255, "é" * 127, "漢" * 85, "😀" * 63, "a", "\udce9", "\n"])
def test_names_as_long_as_the_system_allows(tmp_path, name):
    write_atomically(tmp_path / name, "old")
    write_atomically(tmp_path / name, "new")
    assert (tmp_path / name).read_text() == "new"
    assert os.listdir(tmp_path) == [name]


@posix
@pytest.mark.parametrize("name", ["a" * 256, "é" * 128, "漢" * 86])
def test_a_name_that_is_too_long_is_a_sentence(tmp_path, name):
    with pytest.raises(OSError, match="the name is too long") as caught:
        write_atomically(tmp_path / name, "x")
    assert caught.value.errno == errno.ENAMETOOLONG
    assert os.listdir(tmp_path) == []


def test_a_name_that_ends_like_a_folder_is_a_sentence(tmp_path):
    with pytest.raises(IsADirectoryError, match="names a folder"):
        write_atomically(f"{tmp_path}/x/", "text")
    assert list(tmp_path.iterdir()) == []


def test_folders_in_the_wrong_places(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    with pytest.raises(IsADirectoryError, match="is a folder; name a file"):
        write_atomically(tmp_path / "folder", "x")
    with pytest.raises(FileNotFoundError, match="there is no such folder"):
        write_atomically(tmp_path / "nowhere" / "x", "x")
    if os.name == "posix":
        with pytest.raises(NotADirectoryError, match="a file where a folder is named"):
            write_atomically(tmp_path / "file" / "x", "x")
    assert (tmp_path / "file").read_text() == "mine"


# ---- permissions and room -----------------------------------------------------------------------


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755, 0o666])
def test_permissions_and_owner_are_kept(tmp_path, mode):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(mode)
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    before = path.stat()
    write_atomically(path, "new")
    after = path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode,
        before.st_uid,
        before.st_gid,
    )
    assert path.read_text() == "new"


@contextlib.contextmanager
def as_an_ordinary_user():
    """The superuser may write anywhere; be somebody else for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@pytest.fixture
def shared():
    """A folder that other users can reach."""
    folder = Path(tempfile.mkdtemp(prefix="minigrad-test-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o700)
    shutil.rmtree(folder)


@posix
def test_a_folder_that_is_read_only_is_a_sentence(shared):
    (shared / "file").write_text("old")
    shared.chmod(0o555)
    for name in ("file", "new"):
        with as_an_ordinary_user(), pytest.raises(PermissionError, match="may not write") as caught:
            write_atomically(shared / name, "x")
        assert caught.value.filename == str(shared / name)
    shared.chmod(0o000)
    with as_an_ordinary_user(), pytest.raises(PermissionError, match="you may not write there"):
        write_atomically(shared / "file", "x")
    shared.chmod(0o755)
    assert (shared / "file").read_text() == "old"
    assert os.listdir(shared) == ["file"]


LIMITED = """
import resource, sys
from minigrad.core.files import write_atomically
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_atomically(sys.argv[1], "x" * 100_000)
except OSError as error:
    print(error.errno, error.strerror, error.filename)
"""


@posix
def test_where_there_is_no_room_the_old_file_stays(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    told = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=True
    ).stdout
    assert told == f"{errno.EFBIG} the file would be larger than is allowed here {path}\n"
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


# ---- killed writers -----------------------------------------------------------------------------


@posix
def test_a_kill_leaves_the_old_or_the_new_file_and_the_next_writer_no_litter(tmp_path):
    counts = killed(25, seed=1, folder=tmp_path)
    assert counts.failures == []
    assert counts.kills == 25
    assert counts.litter > 0  # else nobody was killed while writing, and nothing was shown


@posix
def test_writers_do_not_disturb_each_other(tmp_path):
    counts = crowded(3, seed=1, folder=tmp_path)
    assert counts.failures == []


@posix
def test_only_what_is_abandoned_is_removed(tmp_path):
    import fcntl

    path = tmp_path / "file"
    left = temporary_of(path)

    left.write_text("half")
    write_atomically(path, "x")
    assert not left.exists()

    with left.open("w") as alive:
        fcntl.flock(alive, fcntl.LOCK_EX)
        os.utime(left, (0, 0))  # however old
        write_atomically(path, "x")
        assert left.exists()
    left.unlink()

    other = temporary_of(tmp_path / "another")
    other.write_text("half")
    write_atomically(path, "x")
    assert other.exists()
    other.unlink()

    precious = tmp_path / "precious"
    precious.write_text("mine")
    left.symlink_to(precious)
    write_atomically(path, "x")
    assert precious.read_text() == "mine"
    left.unlink(missing_ok=True)

    os.mkfifo(left)
    write_atomically(path, "x")  # and nobody waits for a reader
    assert stat.S_ISFIFO(left.stat().st_mode)
    left.unlink()

    left.mkdir()
    write_atomically(path, "x")
    assert left.is_dir()


@posix
def test_the_files_of_other_users_are_not_touched(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only the superuser can give a file to another user")
    path = tmp_path / "file"
    left = temporary_of(path)
    left.write_text("half")
    os.chown(left, NOBODY, NOBODY)
    os.utime(left, (0, 0))
    write_atomically(path, "x")
    assert left.exists()


@posix
def test_without_locks_age_decides(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(files.fcntl, "flock", refuse)
    path = tmp_path / "file"
    left = temporary_of(path)
    left.write_text("half")
    write_atomically(path, "x")
    assert left.exists()
    old = time.time() - 2 * 86_400
    os.utime(left, (old, old))
    write_atomically(path, "y")
    assert path.read_text() == "y"
    assert os.listdir(tmp_path) == ["file"]


@posix
def test_a_file_that_is_swept_away_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    swept = []

    def sweep(descriptor, kind):
        if not swept:
            (name,) = temporaries(tmp_path)
            (tmp_path / name).unlink()
            swept.append(name)

    monkeypatch.setattr(files.fcntl, "flock", sweep)
    write_atomically(tmp_path / "file", "x")
    assert swept
    assert (tmp_path / "file").read_text() == "x"
    assert os.listdir(tmp_path) == ["file"]


# ---- everybody --------------------------------------------------------------------------------

# What writes by itself: the module that all others use, and the one whose files are nobody's: a
# folder that it alone may enter, by its descriptor, where a file that cannot be written is none.
OWN_WAYS = {"core/files.py", "core/store.py"}


def opened_for_writing(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            modes = [a.value for a in node.args if isinstance(a, ast.Constant)]
            modes += [k.value.value for k in node.keywords if isinstance(k.value, ast.Constant)]
            is_open = called in ("open", "fdopen") and any(
                isinstance(mode, str) and set(mode) & set("wax+") and len(mode) <= 3
                for mode in modes
            )
            if is_open or called in ("write_text", "write_bytes", "mkstemp", "NamedTemporaryFile"):
                yield f"line {node.lineno}: {called}"


def test_every_module_writes_its_files_by_this_one():
    package = Path(minigrad.__file__).parent
    modules = {path.relative_to(package).as_posix(): path for path in package.rglob("*.py")}
    own = {
        name: list(opened_for_writing(path.read_text("utf-8"))) for name, path in modules.items()
    }
    assert {name for name, ways in own.items() if ways} == OWN_WAYS
