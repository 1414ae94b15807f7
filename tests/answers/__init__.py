"""Answers to the exercises of the course, by chapter: right ones, and the usual mistakes.

A file for each chapter has RIGHT, answers that must be accepted, and MISTAKES, by the name of the
hint that each must get. An answer is a list: for each part that is to be written, in the order of
the file, the lines that go there; or pairs of lines, what stood there and what the learner wrote.
"""

from __future__ import annotations

import importlib
import textwrap
from pathlib import Path

HOLE = "raise NotImplementedError  # your turn"


def answers(number):
    """Return (mistake, answer) pairs; the mistake of a right answer is ""."""
    module = importlib.import_module(f"answers.ch{number:02}")
    right = [("", answer) for answer in module.RIGHT]
    return right + [(name, made) for name, all_ in module.MISTAKES.items() for made in all_]


def numbers():
    return sorted(int(path.stem[2:]) for path in Path(__file__).parent.glob("ch*.py"))


def written(starter, answer):
    """Return the learner's file with an answer in it."""
    for part in answer:
        if isinstance(part, tuple):
            old, new = part
            assert old in starter, old
            starter = starter.replace(old, new)
        else:
            before, _, after = starter.partition(HOLE)
            assert _, "there are more answers than holes"
            indent = before.rpartition("\n")[2]
            lines = textwrap.indent(textwrap.dedent(part).strip("\n"), indent).lstrip()
            starter = before + lines + after
    return starter
