"""Files of parameters that nobody saved: each must be refused by a sentence, or be right.

    counts = hostile(10_000, seed=0, folder=tmp_path)
    assert counts.failures == []

A sound file is damaged in ways that happen (cut off, a byte changed) and in ways that one could
think of (numbers beyond the floats, endless nesting, a key twice). What counts as right is decided
here, by Python's own reader and the definition of the format, not by the room under test.
"""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass, field
from pathlib import Path

from minigrad import CheckpointError, Value, load_parameters

BEFORE = [7.0, 8.0, 9.0]

# In the place of a number of 'data'.
NUMBERS = [
    *("1e999", "-1e999", "1e400", "NaN", "Infinity", "-Infinity", "1" * 400, "-" + "9" * 4301),
    *("9" * 20_000, "1e99999999999999999999", "0." + "0" * 5000 + "1", "-0", "1e-999", "1E+308"),
    *('"inf"', '"-inf"', '"nan"', '"NaN"', '"1.0"', '"\\ud800"', '"\\u001b[31m"', "true", "null"),
    *("[]", "{}", "[1.0]", '{"a": 1}', "01", "+1", ".5", "1.", "0x10", "1_000", "--1", "e5", ""),
    *("1.7976931348623157e308", "1.7976931348623159e308", "5e-324", "2e-324", "1" * 309),
]
# In the place of the whole document.
DOCUMENTS = [
    *(
        b"",
        b"null",
        b"[]",
        b"{}",
        b"0",
        b'""',
        b"\0",
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        b"\xed\xa0\x80",
    ),
    *(b"[" * 100_000, b'{"a":' * 100_000, b"[" * 900 + b"]" * 900, b'"' + b"\\" * 999, b"1" * 5000),
    *(b'{"format": "minigrad parameters"}', b"\x80\x04K\x01.", b"PK\x03\x04", b"\x1b[2J" * 10),
]
ELSEWHERE = [
    "1e999",
    "NaN",
    "9" * 5000,
    "true",
    "null",
    "[]",
    '"\\u001b[2J\\ud800"',
    '"x"',
    "1.0",
    "2",
]


@dataclass
class Counts:
    """How many were refused, how many were rightly taken, and what went wrong."""

    refused: int = 0
    loaded: int = 0
    failures: list[str] = field(default_factory=list)


def sound(numbers=("0.5", "-2", "1e3"), **changes):
    """The text of a file, put together by hand; `changes` are texts of JSON, None leaves out."""
    parts = {
        "format": '"minigrad parameters"',
        "version": "1",
        "model": '""',
        "data": f"[{', '.join(numbers)}]",
        **changes,
    }
    return "{" + ", ".join(f'"{k}": {x}' for k, x in parts.items() if x is not None) + "}"


def case(dice):
    """Make up a file."""
    kind = dice.randrange(7)
    if kind == 0:
        return dice.choice(DOCUMENTS)
    if kind == 1:
        numbers = ["0.5", "-2", "1e3"]
        numbers[dice.randrange(3)] = dice.choice(NUMBERS)
        return sound(numbers).encode()
    if kind == 2:
        key = dice.choice(["format", "version", "model", "data", "more"])
        return sound(**{key: dice.choice([*ELSEWHERE, None])}).encode()
    if kind == 3:
        numbers = [dice.choice(NUMBERS) for _ in range(dice.randrange(6))]
        return sound(numbers, more=dice.choice(ELSEWHERE)).encode()
    content = bytearray(sound().encode())
    if kind == 4:  # cut off
        return bytes(content[: dice.randrange(len(content))])
    if kind == 5:  # a few bytes changed
        for _ in range(dice.randint(1, 4)):
            content[dice.randrange(len(content))] = dice.randrange(256)
        return bytes(content)
    key = dice.choice(['"data"', '"version"', '"format"', '"more"'])  # a key twice
    return (sound()[:-1] + f", {key}: 1, {key}: {dice.choice(ELSEWHERE)}" + "}").encode()


class _WrongError(Exception):
    """This is no file of parameters."""


def _once(pairs):
    if len({key for key, _ in pairs}) < len(pairs):
        raise _WrongError
    return dict(pairs)


def _number(text):
    number = float(text)
    if math.isinf(number):
        raise _WrongError
    return number


def _constant(text):
    raise _WrongError


def right_numbers(content):
    """Read a file by the definition of the format; None if it is not one."""
    try:
        document = json.loads(
            content,
            parse_int=_number,
            parse_float=_number,
            parse_constant=_constant,
            object_pairs_hook=_once,
        )
    except (_WrongError, ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or not isinstance(document.get("model", ""), str):
        return None
    if document.get("format") != "minigrad parameters" or document.get("version") is True:
        return None
    if document.get("version") != 1 or not isinstance(data := document.get("data"), list):
        return None
    if len(data) != len(BEFORE):
        return None
    if not all(type(x) is float or x in ("inf", "-inf", "nan") for x in data):
        return None
    return [float(x) for x in data]


def hostile(count, seed, folder) -> Counts:
    """Have `count` made-up files loaded."""
    dice, counts = random.Random(seed), Counts()
    path = Path(folder) / "p.json"
    for k in range(count):
        content = case(dice)
        path.unlink(missing_ok=True)  # writing over a file may wait for the disk
        path.write_bytes(content)
        target = [Value(x) for x in BEFORE]
        expected = right_numbers(content)
        where = f"case {k}: {content[:80]!r}"
        try:
            load_parameters(path, target)
        except CheckpointError as error:
            counts.refused += 1
            message = str(error)
            if not (message.startswith(f"{path}: ") and message.isprintable()):
                counts.failures.append(f"{where}: the message is {message!r}")
            if len(message) > 400 + len(str(path)) or not message.endswith((".", "?", ")")):
                counts.failures.append(f"{where}: no sentence: {message!r}")
            if [v.data for v in target] != BEFORE:
                counts.failures.append(f"{where}: refused, but the model has changed")
            if expected is not None:
                counts.failures.append(f"{where}: refused, but it is sound")
        except Exception as error:
            counts.failures.append(f"{where}: {type(error).__name__}: {error}")
        else:
            counts.loaded += 1
            if expected is None:
                counts.failures.append(f"{where}: loaded, but it is not sound")
            elif list(map(repr, expected)) != [repr(v.data) for v in target]:
                counts.failures.append(f"{where}: loaded as {[v.data for v in target]}")
    return counts
