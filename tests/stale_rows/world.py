"""Time, files, environment, the command line: what a function reads of the world."""

import argparse
import datetime
import gc
import itertools
import locale
import os
import pathlib
import platform
import sys
import tempfile
import time

from minigrad import Value

from . import SAME, catalogue

row = catalogue("time, files, environment")


@row(limit="the clock is frozen when the function is traced, and explain() says so")
def the_clock(compiled):
    f = compiled(lambda x: x * time.perf_counter_ns())
    first, second = f(1.0), f(1.0)
    yield first < second


@row()
def the_time_of_day(compiled):
    f = compiled(lambda x: x * (time.time() % 0.5))
    first = f(1.0).data
    time.sleep(0.002)
    yield f(1.0).data != first


@row()
def a_datetime(compiled):
    f = compiled(lambda x: x * datetime.datetime.now().microsecond)
    first = f(1.0).data
    time.sleep(0.002)
    yield f(1.0).data != first


@row()
def the_time_since_the_start(compiled):
    start = time.perf_counter()
    f = compiled(lambda x: x + (time.perf_counter() - start))
    first = f(1.0).data
    yield f(1.0).data > first


@row()
def a_time_limit_decides(compiled):
    clock = itertools.count()
    f = compiled(lambda x: x if next(clock) < 2 else x * 0.0)
    yield [f(1.0) for _ in range(4)]


@row()
def a_file_is_read(compiled):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rate.txt"
        path.write_text("2.0")
        f = compiled(lambda x: x * float(path.read_text()))
        yield f(1.0)
        path.write_text("9.0")
        yield f(1.0)


@row()
def a_file_is_opened_by_name(compiled):
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "rate.txt")

        def put(text):
            with open(name, "w") as file:
                file.write(text)

        @compiled
        def f(x):
            with open(name) as file:
                return x * float(file.read())

        put("2.0")
        yield f(1.0)
        put("9.0")
        yield f(1.0)


@row()
def an_open_file_is_read_on(compiled):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rates.txt"
        path.write_text("1.0\n2.0\n3.0\n")
        with path.open() as file:
            f = compiled(lambda x: x * float(file.readline()))
            yield [f(1.0) for _ in range(3)]


@row()
def does_a_file_exist(compiled):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "stop"
        f = compiled(lambda x: x * 0.0 if path.exists() else x)
        yield f(1.0)
        path.touch()
        yield f(1.0)


@row()
def the_environment(compiled):
    os.environ["USER_GAIN"] = "2.0"
    f = compiled(lambda x: x * float(os.environ["USER_GAIN"]))
    yield f(1.0)
    os.environ["USER_GAIN"] = "9.0"
    yield f(1.0)


@row()
def getenv(compiled):
    f = compiled(lambda x: x * float(os.getenv("USER_OTHER", "1.0")))
    yield f(1.0)
    os.environ["USER_OTHER"] = "9.0"
    yield f(1.0)


@row()
def the_working_directory(compiled):
    f = compiled(lambda x: x * len(os.getcwd()))
    with tempfile.TemporaryDirectory() as folder:
        before = pathlib.Path.cwd()
        os.chdir("/")
        yield f(1.0)
        os.chdir(folder)
        yield f(1.0).data > 1.0
        os.chdir(before)


@row()
def the_command_line(compiled):
    f = compiled(lambda x: x * len(sys.argv))
    before = list(sys.argv)
    try:
        sys.argv = ["train.py"]
        yield f(1.0)
        sys.argv = ["train.py", "--lr", "0.1"]
        yield f(1.0)
    finally:
        sys.argv = before


@row(SAME)
def arguments_parsed_outside(compiled):
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=2.0)
    options = parser.parse_args([])
    f = compiled(lambda x: x * options.lr)
    yield f(1.0)
    options.lr = 9.0
    yield f(1.0)
    options = parser.parse_args(["--lr", "4.0"])
    yield f(1.0)


@row()
def arguments_parsed_inside(compiled):
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=2.0)
    line = []
    f = compiled(lambda x: x * parser.parse_args(line).lr)
    yield f(1.0)
    parser.set_defaults(lr=4.0)
    yield f(1.0)
    line += ["--lr", "9.0"]
    yield f(1.0)


@row()
def the_recursion_limit(compiled):
    f = compiled(lambda x: x * sys.getrecursionlimit())
    before = sys.getrecursionlimit()
    try:
        yield f(1.0) > 0.0
        sys.setrecursionlimit(before + 100)
        yield f(1.0).data == before + 100
    finally:
        sys.setrecursionlimit(before)


@row(limit="the collector is off while a function is traced")
def the_garbage_collector_is_on(compiled):
    f = compiled(lambda x: x * (2.0 if gc.isenabled() else 1.0))
    yield f(1.0)
    yield gc.isenabled()


@row()
def the_count_of_references(compiled):
    w = Value(2.0)
    kept = []
    f = compiled(lambda x: x * (2.0 if sys.getrefcount(kept) > 20 else 1.0))
    yield f(1.0)
    many = [kept] * 50
    yield f(1.0)
    yield len(many), w


@row(SAME)
def the_platform(compiled):
    f = compiled(lambda x: x * len(platform.python_version()) + len(sys.version_info))
    yield f(1.0), f(2.0)


@row()
def the_locale(compiled):
    f = compiled(lambda x: x * len(locale.localeconv()["decimal_point"]))
    yield f(1.0), f(2.0)


@row(limit="a trace has frames of its own on the stack")
def how_deep_the_stack_is(compiled):
    def depth():
        frame, count = sys._getframe(), 0
        while frame is not None:
            frame, count = frame.f_back, count + 1
        return count

    f = compiled(lambda x: x * depth())

    def deeper():
        return f(1.0)

    first = f(1.0).data
    yield deeper().data > first


@row()
def a_counter_of_itertools(compiled):
    steps = itertools.count()
    f = compiled(lambda x: x * next(steps))
    yield [f(1.0) for _ in range(3)]


@row()
def a_cycle_in_an_attribute(compiled):
    class Schedule:
        def __init__(self):
            self.rates = itertools.cycle([1.0, 2.0, 3.0])

        def now(self):
            return next(self.rates)

    schedule = Schedule()
    f = compiled(lambda x: x * schedule.now())
    yield [f(1.0) for _ in range(4)]
