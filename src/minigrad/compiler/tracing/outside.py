"""What no watch can follow: the clock, files, the network, chance, other threads.

A row for each module: what its names lead to, or one word for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

_CLOCK, _CHANCE, _FILES = "the clock", "random numbers", "files"
_NETWORK, _PROCESS, _THREADS = "the network", "another process", "other threads"
_SURROUNDINGS = "the environment"

_OUTSIDE: dict[str, str | dict[str, str]] = {
    "builtins": {"open": _FILES, "input": "the keyboard"},
    "io": _FILES,
    "time": dict.fromkeys(
        [
            *("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns"),
            *("process_time", "process_time_ns", "thread_time", "thread_time_ns"),
            *("ctime", "gmtime", "localtime", "strftime", "clock_gettime", "clock_gettime_ns"),
        ],
        _CLOCK,
    ),
    "datetime": dict.fromkeys(["now", "today", "utcnow"], _CLOCK),
    "os": {
        **dict.fromkeys(["environ", "environb", "getenv", "getenvb", "getcwd"], _SURROUNDINGS),
        **dict.fromkeys(["urandom", "getrandom"], _CHANCE),
        **dict.fromkeys(["getpid", "times", "cpu_count", "getloadavg"], _SURROUNDINGS),
        **dict.fromkeys(["open", "listdir", "scandir", "stat", "walk", "read"], _FILES),
        **dict.fromkeys(["system", "popen", "fork", "pipe"], _PROCESS),
    },
    "sys": {"stdin": "the keyboard", "argv": _SURROUNDINGS},
    "random": _CHANCE,
    "secrets": _CHANCE,
    "uuid": dict.fromkeys(["uuid1", "uuid4", "getnode"], _CHANCE),
    "numpy": {"random": _CHANCE, "load": _FILES, "fromfile": _FILES, "loadtxt": _FILES},
    "numpy.random": _CHANCE,
    **dict.fromkeys(["tempfile", "shutil", "glob", "sqlite3", "shelve", "fileinput"], _FILES),
    **dict.fromkeys(["socket", "ssl", "http", "requests", "httpx", "aiohttp", "ftplib"], _NETWORK),
    "urllib": {"request": _NETWORK, "urlopen": _NETWORK},
    **dict.fromkeys(["subprocess", "multiprocessing"], _PROCESS),
    **dict.fromkeys(["threading", "concurrent", "queue", "asyncio"], _THREADS),
}
# The modules of C code that some of these are made of; others are called _io, for io.
_OTHER_NAMES = {"posix": "os", "nt": "os", "_thread": "threading"}
# Of threads: the attributes of a `local` are watched, and locks have nothing to tell.
_HARMLESS = {"local", "_local", "lock", "Lock", "RLock", "Condition", "Semaphore", "Event"}


def leads_outside(module: str, name: str) -> str | None:
    """Say where a name of a module leads, if that is outside; None if it is not."""
    module = _OTHER_NAMES.get(module, module.removeprefix("_"))
    row = _OUTSIDE.get(module, _OUTSIDE.get(module.split(".", maxsplit=1)[0]))
    where = row if isinstance(row, str) else (row or {}).get(name)
    if where is None or name in _HARMLESS:
        return None
    is_known_as_it_is = module == "builtins" or name == "open"  # which is io's
    return f"{name if is_known_as_it_is else f'{module}.{name}'} ({where})"


def names_outside(module: str, mentioned: set[str]) -> Iterator[str]:
    """Say the same for all names that are mentioned beside a module."""
    row = _OUTSIDE.get(module)
    if isinstance(row, str):
        yield f"{module} ({row})"
    elif row is not None:
        yield from [f"{module}.{name} ({row[name]})" for name in row if name in mentioned]
