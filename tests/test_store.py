"""Bytes by key in a private folder: whatever is wrong with a file or a folder is a miss."""

from __future__ import annotations

import os
import random
import stat
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minigrad.core import store

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="nothing is kept on Windows")
KEY = "a1" * 20
OTHER = "b2" * 20
CONTENT = bytes(range(256)) * 40


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MINIGRAD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "programs"


def file_of(folder, key=KEY):
    return folder / f"{key}.kept"


@pytest.mark.smoke
def test_what_is_kept_is_recalled_by_its_key_alone(folder):
    assert store.recall(KEY) is None
    store.keep(KEY, CONTENT)
    assert store.recall(KEY) == CONTENT
    assert store.recall(OTHER) is None
    store.keep(KEY, b"")  # another content, and an empty one, are contents too
    assert store.recall(KEY) == b""
    store.forget(KEY)
    store.forget(KEY)
    assert store.recall(KEY) is None


def test_only_the_owner_may_enter(folder):
    previous = os.umask(0)
    try:
        store.keep(KEY, CONTENT)
    finally:
        os.umask(previous)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(file_of(folder).stat().st_mode) == 0o600


@given(st.data())
def test_a_damaged_file_is_a_miss(tmp_path_factory, data):
    with pytest.MonkeyPatch.context() as patch:
        top = tmp_path_factory.mktemp("damaged")
        patch.setenv("MINIGRAD_CACHE", str(top))
        store.keep(KEY, CONTENT[:300])
        path = file_of(top / "programs")
        whole = bytearray(path.read_bytes())
        kind = data.draw(st.sampled_from(["cut", "bits", "longer", "other", "swapped"]))
        if kind == "cut":
            damaged = whole[: data.draw(st.integers(0, len(whole) - 1))]
        elif kind == "bits":
            damaged = whole
            for _ in range(data.draw(st.integers(1, 4))):
                damaged[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
            if damaged == path.read_bytes():  # a bit turned twice
                return
        elif kind == "longer":
            damaged = whole + data.draw(st.binary(min_size=1, max_size=20))
        elif kind == "other":
            damaged = data.draw(st.binary(max_size=400))
        else:  # a whole file, of another key
            store.keep(OTHER, CONTENT)
            damaged = file_of(top / "programs", OTHER).read_bytes()
        path.write_bytes(damaged)
        assert store.recall(KEY) is None
        store.keep(KEY, CONTENT)  # and is replaced
        assert store.recall(KEY) == CONTENT


def test_what_is_no_file_is_a_miss(folder, tmp_path):
    store.keep(KEY, CONTENT)
    path = file_of(folder)
    aside = tmp_path / "aside"
    path.rename(aside)
    path.symlink_to(aside)  # whole, and still not what we have written
    assert store.recall(KEY) is None
    path.unlink()
    os.mkfifo(path)  # nobody waits for a writer
    assert store.recall(KEY) is None
    path.unlink()
    path.mkdir()
    assert store.recall(KEY) is None
    store.keep(KEY, CONTENT)  # cannot be kept, which is nobody's concern
    assert store.recall(KEY) is None


def test_a_folder_that_others_may_enter_is_not_used(folder):
    store.keep(KEY, CONTENT)
    for mode in (0o755, 0o710, 0o702):
        folder.chmod(mode)
        assert store.recall(KEY) is None
        store.keep(OTHER, CONTENT)
        assert not file_of(folder, OTHER).exists()
        assert "chmod 700" in store.survey().problem
        with pytest.raises(OSError, match="chmod 700"):
            store.clear()
    folder.chmod(0o700)
    assert store.recall(KEY) == CONTENT


def test_a_folder_of_somebody_else_is_not_used(folder, monkeypatch):
    store.keep(KEY, CONTENT)
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert store.recall(KEY) is None
    store.keep(OTHER, CONTENT)
    assert not file_of(folder, OTHER).exists()
    assert store.survey().problem == "it belongs to another user"


def test_a_link_in_place_of_the_folder_is_not_followed(folder, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    folder.parent.mkdir()
    folder.symlink_to(elsewhere)
    store.keep(KEY, CONTENT)
    assert list(elsewhere.iterdir()) == []
    assert store.recall(KEY) is None


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({"MINIGRAD_CACHE": "/somewhere"}, "/somewhere/programs"),
        ({"MINIGRAD_CACHE": "~/mine", "HOME": "/home/ada"}, "/home/ada/mine/programs"),
        ({"XDG_CACHE_HOME": "/var/x"}, "/var/x/minigrad/programs"),
        ({"XDG_CACHE_HOME": "x", "HOME": "/home/ada"}, "/home/ada/.cache/minigrad/programs"),
        ({"MINIGRAD_CACHE": "", "HOME": "/home/ada"}, "/home/ada/.cache/minigrad/programs"),
        ({"MINIGRAD_CACHE": "0"}, None),
        ({"MINIGRAD_CACHE": "OFF"}, None),
        ({"MINIGRAD_CACHE": "relative"}, None),  # would be another folder after a chdir
        ({"HOME": "nowhere"}, None),
    ],
)
def test_the_environment_says_where(monkeypatch, names, expected):
    for name in ("MINIGRAD_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in names.items():
        monkeypatch.setenv(name, value)
    assert store.folder() == expected
    if expected is None:
        store.keep(KEY, CONTENT)
        assert store.recall(KEY) is None
        assert store.survey() == (None, "", 0, 0, store.LIMIT)
        assert store.clear().files == 0


def test_without_a_home_nothing_is_kept(monkeypatch):
    """A user without an entry in the password file, in a container, say."""
    for name in ("MINIGRAD_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert store.folder() is None
    store.keep(KEY, CONTENT)
    assert store.recall(KEY) is None


def test_where_nothing_can_be_written_the_rest_goes_on(tmp_path, monkeypatch):
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    monkeypatch.setenv("MINIGRAD_CACHE", str(in_the_way))
    store.keep(KEY, CONTENT)
    assert store.recall(KEY) is None
    assert store.survey().problem


def test_a_full_disk_leaves_nothing_behind(folder, monkeypatch):
    store.keep(KEY, CONTENT)

    def refuse(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", refuse)
    store.keep(OTHER, CONTENT)
    assert sorted(path.name for path in folder.iterdir()) == [f"{KEY}.kept"]
    assert store.recall(KEY) == CONTENT


def test_what_is_kept_can_be_read_where_nothing_can_be_written(folder, monkeypatch):
    store.keep(KEY, CONTENT)

    def refuse(*_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "utime", refuse)
    folder.chmod(0o500)
    try:
        assert store.recall(KEY) == CONTENT
    finally:
        folder.chmod(0o700)


def test_what_was_not_used_for_longest_goes_first(folder, monkeypatch):
    monkeypatch.setattr(store, "LIMIT", 10_000)
    monkeypatch.setattr(store, "_LOOKED_AT", 0)
    keys = [f"{k:040x}" for k in range(9)]
    for k, key in enumerate(keys):
        store.keep(key, bytes(1000))
        os.utime(file_of(folder, key), (1000.0 + k, 1000.0 + k))
    assert store.recall(keys[0]) is not None  # used now
    store.keep(KEY, bytes(1000))
    assert store.survey().size <= 0.75 * 10_000
    assert store.recall(KEY) is not None
    assert store.recall(keys[0]) is not None
    assert store.recall(keys[1]) is None
    assert store.recall(keys[8]) is not None


def test_what_is_too_large_is_not_kept(folder, monkeypatch):
    monkeypatch.setattr(store, "LARGEST", 1000)
    store.keep(KEY, bytes(1001))
    assert store.recall(KEY) is None
    store.keep(KEY, bytes(1000))
    assert store.recall(KEY) == bytes(1000)


def test_a_folder_is_looked_through_now_and_then_only(folder, monkeypatch):
    looked = []
    monkeypatch.setattr(store, "_remove_old", looked.append)
    for k in range(64):
        store.keep(f"{k:040x}", CONTENT)
    assert len(looked) == 4


def test_survey_and_clear(folder):
    assert store.survey() == (str(folder), "", 0, 0, store.LIMIT)
    store.keep(KEY, CONTENT)
    store.keep(OTHER, b"1")
    found = store.survey()
    assert found.files == 2
    assert found.size == sum(path.stat().st_size for path in folder.iterdir())
    assert store.clear() == found
    assert store.survey().files == 0
    assert store.recall(KEY) is None


def test_threads_and_clearing_disturb_nobody(folder):
    wrong = []

    def work(seed):
        dice = random.Random(seed)
        for _ in range(150):
            key = dice.choice([KEY, OTHER])
            store.keep(key, key.encode() * 50)
            found = store.recall(key)
            if found not in (None, key.encode() * 50):
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        store.clear()
    assert wrong == []


# The module alone, by its path: a child is there within milliseconds.
WRITER = """
import os, runpy, sys
keep = runpy.run_path(sys.argv[1])["keep"]
os.write(1, b"ready")
k = 0
while True:
    k += 1
    keep(sys.argv[2], (b"%d " % k) * 60_000)
"""


def test_writers_that_are_killed_leave_whole_files(folder, monkeypatch):
    """kill -9 at random moments; what is recalled is whole, and litter goes when it is old."""
    dice = random.Random(1)
    seen = set()
    for _ in range(4):
        children = [
            subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", WRITER, store.__file__, KEY],
                stdout=subprocess.PIPE,
            )
            for _ in range(2)
        ]
        for child in children:
            os.read(child.stdout.fileno(), 5)
        time.sleep(dice.uniform(0.005, 0.03))
        for child in children:
            child.kill()
        for child in children:
            child.communicate()
        found = store.recall(KEY)
        if found is not None:
            number = found.split(b" ", 1)[0]
            assert found == (number + b" ") * 60_000
            seen.add(number)
    assert seen
    (folder / "left.part").write_bytes(b"half")
    monkeypatch.setattr(store, "_ABANDONED", -1.0)
    store.keep("0" * 40, b"")
    assert [path for path in folder.iterdir() if path.suffix == ".part"] == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings(r"ignore:os\.fork\(\) was called:RuntimeWarning")  # says JAX
def test_a_forked_process_goes_on(folder):
    store.keep(KEY, CONTENT)
    child = os.fork()
    if not child:
        ok = store.recall(KEY) == CONTENT
        store.keep(OTHER, b"child")
        os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.recall(OTHER) == b"child"
