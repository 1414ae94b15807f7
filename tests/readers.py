"""Threads that read gradients while another runs passes: what they see is never half done.

seen = at_every_line(graph, call)     # what a reader sees at each line of one call
halves = at_random(1000, leaf, backward)     # reads that found something half done
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import interruptions

from minigrad import grads_of

LIMIT = 60  # seconds to wait for another thread
TERMS = 40  # of the sum in `at_random`
SLOPE = TERMS * (TERMS + 1) / 2


def at_every_line(graph: interruptions.Graph, call: Callable[[], Any]) -> list[list[float]]:
    """At every line of a call another thread reads every gradient, in both ways there are."""
    ask, answer = threading.Semaphore(0), threading.Semaphore(0)
    seen, over = [], []

    def read():
        while ask.acquire(timeout=LIMIT):
            seen.append(graph.look())
            seen.append(list(grads_of(graph.nodes)))
            answer.release()
            if over:
                return

    def on_line(frame, event, argument):
        if not frame.f_code.co_filename.startswith(interruptions.PACKAGE):
            return on_line if frame.f_code.co_name == "step" else None
        if event == "line":
            ask.release()
            assert answer.acquire(timeout=LIMIT)
        return on_line

    reader = threading.Thread(target=read)
    reader.start()
    before = sys.gettrace()
    sys.settrace(on_line)
    try:
        call()
    finally:
        sys.settrace(before)
        over.append(True)
        ask.release()
        reader.join(LIMIT)
    return seen


def at_random(
    reads: int, leaf: Any, number: Callable[[Any], float], *passes: Callable[[Any], Any]
) -> list[float]:
    """Read the gradient of a leaf while another thread runs passes; return what is half done.

    The sum 1 x + 2 x + … has a slope of which no beginning of it is a multiple, and so what is no
    multiple has been read in the middle of a pass.
    """
    over, begun = threading.Event(), threading.Event()

    def work():
        while not over.is_set():
            root = leaf * 1.0
            for k in range(2, TERMS + 1):
                root = root + leaf * float(k)
            for run in passes:
                run(root)
            begun.set()

    worker = threading.Thread(target=work)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        worker.start()
        assert begun.wait(LIMIT)
        found = []
        for _ in range(reads):
            time.sleep(0)  # the other thread's turn
            found.append(number(leaf))
    finally:
        over.set()
        worker.join(LIMIT)
        sys.setswitchinterval(interval)
    return [x for x in found if x % SLOPE]
