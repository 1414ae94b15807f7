"""Writers that are killed while they write: what is left must be a whole file, and no litter.

    counts = killed(100, seed=0, folder=tmp_path)      # kill -9 at random moments
    counts = crowded(20, seed=0, folder=tmp_path)      # several at once, one of them killed
    assert counts.failures == []

Every content ends with its own digest, so that half of one, or two mixed, cannot pass.
"""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import minigrad.core.files

# The room alone, by its path: a child is there within milliseconds.
CHILD = """
import hashlib, os, runpy, sys
path, seed, times, size = sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
write = runpy.run_path(sys.argv[1])["write_atomically"]
os.write(1, b"ready")
for k in range(times):
    body = f"{seed} {k} ".encode() * (size // 8 + k)
    write(path, body + hashlib.sha256(body).hexdigest().encode())
"""
FOREVER = 10**9


@dataclass
class Counts:
    """What happened, and what should not have."""

    kills: int = 0
    changed: int = 0  # kills after which the file was another one than before
    litter: int = 0  # temporary files that killed writers left behind
    writes: int = 0  # of writers that nobody killed
    failures: list[str] = field(default_factory=list)


def started(path, seed, times=FOREVER, size=1 << 20):
    """Start a writer, and wait until it is about to write."""
    child = subprocess.Popen(
        [
            *(sys.executable, "-I", "-S", "-c", CHILD, minigrad.core.files.__file__),
            *map(str, (path, seed, times, size)),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    os.read(child.stdout.fileno(), 5)
    return child


def finished(child):
    """End a writer in whatever state it is, and return what it complained of."""
    complaint = child.communicate()[1].decode()
    return "" if child.returncode in (0, -9) else complaint or f"exit code {child.returncode}"


def is_whole(content):
    return hashlib.sha256(content[:-64]).hexdigest().encode() == content[-64:]


def temporaries(folder):
    return [name for name in os.listdir(folder) if name.endswith(".tmp")]


def write_whole(path, text):
    body = text.encode()
    minigrad.core.files.write_atomically(path, body + hashlib.sha256(body).hexdigest().encode())


def killed(count, seed, folder) -> Counts:
    """Kill a writer `count` times, at random moments of its work."""
    dice, counts = random.Random(seed), Counts()
    path = Path(folder) / "written.json"
    for k in range(count):
        write_whole(path, f"old {k}")
        old = path.read_bytes()
        child = started(path, k, size=dice.choice([100, 1 << 16, 1 << 20]))
        time.sleep(dice.uniform(0.0, 0.03))
        child.kill()
        complaint = finished(child)
        if complaint:
            counts.failures.append(f"case {k}: the writer failed: {complaint}")
        counts.kills += 1
        content = path.read_bytes()
        counts.changed += content != old
        if not is_whole(content):
            counts.failures.append(f"case {k}: the file is not whole")
        counts.litter += len(temporaries(folder))
        write_whole(path, f"new {k}")
        left = temporaries(folder)
        if left:
            counts.failures.append(f"case {k}: the next writer left {left}")
    return counts


def crowded(count, seed, folder, writers=3) -> Counts:
    """Let several write one file, `count` times; one of them is killed, the others must go on."""
    dice, counts = random.Random(seed), Counts()
    path = Path(folder) / "written.json"
    for k in range(count):
        times = 40
        others = [started(path, n, times, 1000) for n in range(writers - 1)]
        victim = started(path, writers, size=1 << 18)
        time.sleep(dice.uniform(0.0, 0.02))
        victim.kill()
        counts.kills += 1
        for child in (victim, *others):
            complaint = finished(child)
            if complaint:
                counts.failures.append(f"case {k}: a writer failed: {complaint}")
        counts.writes += times * len(others)
        if not is_whole(path.read_bytes()):
            counts.failures.append(f"case {k}: the file is not whole")
        write_whole(path, "last")
        if temporaries(folder):
            counts.failures.append(f"case {k}: left {temporaries(folder)}")
    return counts
