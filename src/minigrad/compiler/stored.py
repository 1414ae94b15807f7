"""Programs on disk, so that the second run of a script starts warm.

What a function does is found out by running it, each time anew; the trace, `Tape`, is what comes of
that. What passes and encoder then make of the tape depends on nothing but the tape and on the code
of minigrad itself. So the hash of both is the key, and under it is kept what they made: where
everything lies (`layout`, from `group`), and for each purpose the words of the native machine. A
program that comes from here is the one that would be made now, word for word.

Instructions are not kept: they are made from the tape when somebody asks for them, to print a
program, say. `core/store.py` has the files; whatever is wrong with one, it is as if there were
none. Numbers, guards and Values come from the trace at hand, never from a file.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import Any

import numpy as np

from ..core import store
from ..core.native_or_pure import native_machine
from ..version import __version__
from .backends.encode import Bytecode
from .ir.instructions import Instruction, Later
from .ir.program import Program
from .ir.refs import MOST_SLOTS
from .tracing import canonical, tape
from .tracing.tape import Tape

Array = np.ndarray[Any, np.dtype[Any]]
Make = Callable[[], Sequence[Instruction]]

_FORMAT = 1
# What makes programs, from the op table to the words; the machine itself is asked for its build.
_SOURCES = (
    *("core/ops.py", "core/codes.py", "maths", "codegen"),
    *("compiler/ir", "compiler/passes", "compiler/specialization.py", "compiler/stored.py"),
    *("compiler/tracing/tape.py", "compiler/tracing/canonical.py"),
    *("compiler/backends/encode.py", "compiler/backends/native.py"),
)


@cache
def maker() -> bytes | None:
    """Return a hash of everything that shapes a program besides the tape; None if it is not known.

    Of its files, where they lie and when they were changed: reading them would take as long as it
    takes to compile a small function. A clone that is worked on has the same version all day.
    """
    machine, top = native_machine(), os.path.dirname(os.path.dirname(__file__))
    if machine is None:
        return None
    known: list[Any] = [_FORMAT, __version__, sys.byteorder, sys.implementation.cache_tag]
    known += [np.__version__, machine.isas()]
    paths: list[Any] = []
    try:
        for path in (os.path.join(top, name) for name in _SOURCES):
            if os.path.isdir(path):
                paths += sorted(entry.path for entry in os.scandir(path) if entry.is_file())
            else:
                paths.append(path)
        paths += [module.__file__ for module in (machine, canonical, tape)]
        for path in paths:
            status = os.stat(path)
            known.append((path, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    except (OSError, TypeError, AttributeError):  # inside a zip file, say
        return None
    return hashlib.blake2b(repr(known).encode()).digest()


def stored_for(tape: Tape) -> Stored | None:
    """Return where the programs of a tape are kept; None if nothing is kept at all."""
    if store.folder() is None:
        return None
    made_by = maker()
    return None if made_by is None else Stored(_hash(tape, made_by))


def _hash(tape: Tape, made_by: bytes) -> bytes:
    """Return a hash of everything that passes read of a tape."""
    entries, found = tape.entries, hashlib.blake2b(made_by)
    tables: list[Any] = [
        memoryview(table)[: entries.count]
        for table in (entries.code, entries.first, entries.second)
    ]
    guarded = [guard.at for guard in tape.guards]
    lists = (entries.captured, tape.arguments, tape.results, guarded, entries.numbers)
    tables += [np.fromiter(numbers, np.int64, len(numbers)) for numbers in lists]
    tables.append(np.fromiter(entries.numbers.values(), np.float64, len(entries.numbers)))
    more = entries.more
    lengths = np.fromiter(map(len, more.values()), np.int64, len(more))
    tables += [np.fromiter(more, np.int64, len(more)), lengths]
    operands = chain.from_iterable(more.values())
    tables.append(np.fromiter(operands, np.int64, int(lengths.sum())))
    found.update(repr((tape.in_order, [len(table) for table in tables])).encode())
    for table in tables:
        found.update(table)
    return found.digest()


@dataclass(frozen=True)
class Stored:
    """What is kept of one tape."""

    tape_key: bytes

    def _key(self, what: str, places: Sequence[int] = ()) -> str:
        name = repr((what, tuple(places))).encode()
        return hashlib.blake2b(self.tape_key + name, digest_size=20).hexdigest()

    # ---- where everything lies -------------------------------------------------------------------

    def keep_layout(self, program: Program, before: Sequence[int], tape: Tape) -> None:
        """Keep a program without its instructions; `before` are the entries that were captured."""
        place = dict(zip(before, range(len(before)), strict=True))
        order = [place[at] for at in tape.entries.captured]
        head = [program.size, program.inputs, program.parameters, len(program.instructions)]
        guards = [guard.at for guard in program.guards]
        lists = [_ints(x) for x in (head, order, program.results, guards)]
        store.keep(self._key("layout"), _packed([*lists, program.constants]))

    def layout(self, tape: Tape, make: Make) -> Program | None:
        """Return the program of a tape, and order what it captured as `group` would; or None."""
        arrays = _unpacked(store.recall(self._key("layout")), "qqqqd")
        if arrays is None or len(arrays[0]) != 4:
            return None
        (size, inputs, parameters, count), order, results, slots, constants = (
            *(x.tolist() for x in arrays[:4]),
            arrays[4],
        )
        entries = tape.entries
        captured = len(entries.captured)
        fits = (
            parameters == captured == len(order)
            and inputs == captured + len(tape.arguments)
            and inputs + len(constants) <= size <= MOST_SLOTS
            and sorted(order) == list(range(captured))
            and len(results) == len(tape.results)
            and len(slots) == len(tape.guards)
            and all(0 <= at < size for at in (*results, *slots))
            and count >= 0
        )
        if not fits:
            return None
        values = entries.captured_values
        entries.captured = [entries.captured[at] for at in order]
        entries.captured_values = [values[at] for at in order]
        return Program(
            size=size,
            inputs=inputs,
            parameters=parameters,
            constants=constants.copy(),
            instructions=Later(count, make),
            results=tuple(results),
            guards=_moved(tape.guards, slots),
        )

    # ---- what the machine runs -------------------------------------------------------------------

    def keep_code(self, what: str, places: Sequence[int], program: Program, code: Bytecode) -> None:
        """Keep the words of a program for one purpose."""
        head = [program.size, program.inputs, program.adjoints, len(program.instructions)]
        guards = [guard.at for guard in program.guards]
        lists = [_ints(x) for x in (head, program.results, guards)]
        content = [*lists, code.words, code.pool, code.numbers]
        if sum(array.nbytes for array in content) < store.LARGEST:  # else no copy is made of it
            store.keep(self._key(what, places), _packed(content))

    def code(
        self, what: str, places: Sequence[int], of: Program, make: Make
    ) -> tuple[Program, Bytecode] | None:
        """Return a program that was made of another for a purpose, with its words; or None."""
        arrays = _unpacked(store.recall(self._key(what, places)), "qqqqid")
        if arrays is None or len(arrays[0]) != 4:
            return None
        (size, inputs, adjoints, count), results, slots = (x.tolist() for x in arrays[:3])
        fits = (
            of.inputs <= inputs
            and inputs + len(of.constants) <= size <= MOST_SLOTS
            and (adjoints == 0 if what == "forward" else 0 < adjoints <= size - inputs)
            and len(results) == len(of.results)
            and len(slots) == len(of.guards)
            and all(0 <= at < size for at in (*results, *slots))
            and count >= 0
        )
        if not fits:
            return None
        program = replace(
            of,
            size=size,
            inputs=inputs,
            adjoints=adjoints,
            instructions=Later(count, make),
            results=tuple(results),
            guards=_moved(of.guards, slots),
        )
        words, pool, numbers = arrays[3:]
        return program, Bytecode(words, pool, numbers, size)

    def forget_code(self, what: str, places: Sequence[int]) -> None:
        """Remove the words for a purpose."""
        store.forget(self._key(what, places))


def _moved(guards: Sequence[Any], slots: Sequence[int]) -> tuple[Any, ...]:
    return tuple([replace(guard, at=at) for guard, at in zip(guards, slots, strict=True)])


# ---- arrays as bytes -----------------------------------------------------------------------------


def _ints(numbers: Sequence[int]) -> Array:
    return np.array(numbers, dtype=np.int64)


def _packed(arrays: Sequence[Array]) -> bytes:
    """Write arrays one after the other, behind their lengths."""
    parts = [np.array([len(array) for array in arrays], dtype=np.int64).tobytes()]
    for array in arrays:
        parts.append(array.tobytes())
        parts.append(bytes(-len(parts[-1]) % 8))
    return b"".join(parts)


def _unpacked(data: bytes | None, kinds: str) -> list[Array] | None:
    """Read as many arrays of these kinds; None if that is not what the bytes are."""
    if data is None or len(data) < 8 * len(kinds):
        return None
    lengths = np.frombuffer(data, np.int64, len(kinds)).tolist()
    at, found = 8 * len(kinds), []
    for kind, length in zip(kinds, lengths, strict=True):
        width = length * np.dtype(kind).itemsize
        if not 0 <= width <= len(data) - at:
            return None
        found.append(np.frombuffer(data, kind, length, at))
        at += width + -width % 8
    return found if at == len(data) else None


maker()  # now, and not when it is first needed: somebody may edit the files that were just loaded
