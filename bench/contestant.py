"""The process of one peer of bench/compiled.py, on one core, and how it is asked.

`Contestant` starts it, which is this file with `--serve`; a question and its answer are one line of
JSON each. Times are processor time, its compiler's included: what neighbours take of a core that is
shared is not counted. With two cores it is the time that passes.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from bench.compiled_cases import ADAM, PEERS, SGD  # noqa: E402

ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "NUMBA_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}

ROUND = 0.02  # seconds that a round lasts at least
PATIENCE = 180.0  # seconds that a peer may take for one answer


# ---- in the process ------------------------------------------------------------------------------


def serve(peer, folder, cores):
    """Answer requests, one line of JSON each, until the input ends."""
    pin(int(cores))  # before anything counts the cores and makes a thread for each
    room, name = PEERS[peer].split(".")
    try:
        contestant = getattr(importlib.import_module(f"peers.{room}"), name)()
    except ImportError as error:
        say(missing=str(error))
        return
    say(ready=True)
    gc.disable()
    job, loops = None, 0
    clock = time.process_time if int(cores) == 1 else time.perf_counter
    for line in sys.stdin:
        task, argument = json.loads(line)
        if task == "prepare":
            job = None
            gc.collect()
            job, answer = prepare(contestant, argument, Path(folder) / "result.npz")
            loops = 0
        elif task == "round":
            loops, answer = time_round(job, loops, clock)
        elif task == "train":
            answer = train(contestant, argument, Path(folder) / "result.npz")
        else:
            answer = getattr(contestant, task)(*argument)
        say(answer=answer)


def say(**message):
    print(json.dumps(message), flush=True)


def prepare(contestant, case, path):
    """Make the job of a case, save its result, and say how long it took to have the first one."""
    import numpy as np
    from peers import digits, problems

    if case == "C":
        problems.options()  # the data are not part of the preparation
    elif case.startswith("D"):
        problems.dag(case.split()[1])
    elif case.startswith("M"):
        digits.images(digits.batch_of(case))
        if hasattr(contestant, "made"):
            contestant.made(case)
    before, start = peak(), seconds_used()
    if case in (ADAM, SGD):
        tokens = problems.encode(problems.DOCUMENTS[8])
        contestant.optimizer = case.split()[-1]
        job = problems.training_job(contestant, tokens)
    else:
        job = contestant.prepare(case)
    outcome = job.run()
    seconds, memory = seconds_used() - start, peak() - before
    value, gradient = job.read(outcome)
    if case == "C" and gradient.shape[1] == problems.OPTIONS:
        value, gradient = value[problems.CHECKED], gradient[:, problems.CHECKED]
    np.savez(path, value=value, gradient=gradient)
    return job, (seconds, memory)


def seconds_used():
    """Processor time of this process, and of the compilers that it has run."""
    return time.process_time() + sum(os.times()[2:4])


def peak():
    """The largest size that this process has had, in bytes; 0 where nobody tells."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def time_round(job, loops, clock):
    """Return the number of loops that fill a round, and seconds per step, a few times."""
    run = job.run
    if not loops:
        loops = 1
        while (seconds := time_loops(run, loops, clock)) < ROUND:
            loops = int(loops * min(10.0, 1.2 * ROUND / max(seconds, 1e-9))) + 1
            tidy(job)
        tidy(job)
    times = []
    for _ in range(3 if loops > 1 else 1):
        times.append(time_loops(run, loops, clock) / loops)
        tidy(job)
    return loops, times


def time_loops(run, loops, clock):
    start = clock()
    for _ in range(loops):
        run()
    return clock() - start


def tidy(job):
    if job.after:
        job.after()


QUICK = 3.0  # seconds


def train(contestant, count_and_sample, path):
    """Train on `count` documents, or on a sample of them; return seconds and the tokens' share.

    Whoever is quick trains five times, tracing and compiling each time; the quickest counts.
    """
    import numpy as np
    from peers import problems

    count, sample = count_and_sample
    everything = problems.documents(count)
    some = everything
    if sample:  # evenly from the shortest to the longest
        by_length = sorted(everything, key=len)
        some = [by_length[k * (count - 1) // (sample - 1)] for k in range(sample)]
    rounds = []
    while not rounds or (max(rounds) < QUICK and len(rounds) < 5):  # from the start each time
        start = seconds_used()
        parameters = problems.train(contestant, some)
        rounds.append(seconds_used() - start)
    seconds = min(rounds)
    np.savez(path, value=0.0, gradient=parameters)
    predictions = [sum(len(tokens) - 1 for tokens in group) for group in (everything, some)]
    return seconds, predictions[0] / predictions[1]


# ---- who asks ------------------------------------------------------------------------------------


class Contestant:
    """A running process; `missing` says why there is none."""

    def __init__(self, peer, cores=1):
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve", peer, self.folder.name, str(cores)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **(ONE_THREAD if cores == 1 else {}), "MINIGRAD_CACHE": "0"},
        )
        self.missing = self.failed = None
        message = self.hear() or {"missing": self.failed}
        self.missing = message.get("missing")

    def ask(self, task, argument=None, patience=PATIENCE):
        """Return the answer, or None after a failure, which `failed` names."""
        if self.failed:
            return None
        self.process.stdin.write(json.dumps([task, argument]) + "\n")
        self.process.stdin.flush()
        message = self.hear(patience)
        return message and message["answer"]

    def hear(self, patience=PATIENCE):
        ready, _, _ = select.select([self.process.stdout], [], [], patience)
        line = self.process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        self.failed = "failed (see above)" if ready else f"not ready after {patience:.0f} s"
        self.process.kill()
        return None

    def result(self):
        import numpy as np

        with np.load(Path(self.folder.name) / "result.npz") as saved:
            return saved["value"], saved["gradient"]

    def stop(self):
        with contextlib.suppress(BrokenPipeError):  # it may have died
            self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()


def pin(cores):
    """Keep this process on the last so many of the cores that it may use; where that exists."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-cores:])


if __name__ == "__main__":
    serve(*sys.argv[2:])
