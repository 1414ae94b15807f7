"""Threads, executors, queues, context variables, async."""

import asyncio
import contextvars
import queue
import threading
from concurrent.futures import ThreadPoolExecutor

from minigrad import Value

from . import SAME, catalogue

row = catalogue("threads and async")


@row()
def weights_are_squared_in_a_thread(compiled):
    weights = [Value(1.0)]

    @compiled
    def f(x):
        with ThreadPoolExecutor(1) as pool:
            return x * sum(pool.map(lambda w: w * w, weights))

    yield f(1.0)
    weights[0].data = 3.0
    yield f(1.0)


@row()
def arguments_are_squared_in_a_thread(compiled):
    @compiled
    def f(xs):
        with ThreadPoolExecutor(2) as pool:
            return sum(pool.map(lambda x: x * x, xs))

    yield f([1.0, 2.0])
    yield f([3.0, 4.0])


@row()
def a_thread_reads_data(compiled):
    w = Value(2.0)

    @compiled
    def f(x):
        found = []
        worker = threading.Thread(target=lambda: found.append(w.data))
        worker.start()
        worker.join()
        return x * found[0]

    yield f(1.0)
    w.data = 9.0
    yield f(1.0)


@row()
def a_thread_branches_on_an_argument(compiled):
    @compiled
    def f(x):
        with ThreadPoolExecutor(1) as pool:
            is_large = pool.submit(lambda: bool(x.data > 1.0)).result()
        return x * 10.0 if is_large else x

    yield f(0.5)
    yield f(2.0)


@row()
def a_thread_leaves_something_in_a_dict(compiled):
    shared = {}

    @compiled
    def f(x):
        worker = threading.Thread(target=lambda: shared.update(y=x * 2.0))
        worker.start()
        worker.join()
        return shared["y"] + 1.0

    yield f(1.0)
    yield f(5.0)


@row(alone=True)
def a_compiled_function_is_called_in_a_pool_inside(compiled):
    inner = compiled(lambda x: x * x)

    @compiled
    def f(x):
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(inner, 3.0).result() * x

    yield f(1.0)
    yield f(2.0)


@row(SAME)
def many_threads_call_one_function(compiled):
    rate = 2.0
    f = compiled(lambda x: x * rate)
    with ThreadPoolExecutor(4) as pool:
        yield list(pool.map(f, [float(k) for k in range(20)]))
        rate = 3.0
        yield list(pool.map(f, [float(k) for k in range(20)]))


@row(SAME)
def another_thread_changes_the_rate(compiled):
    config = {"rate": 2.0}
    f = compiled(lambda x: x * config["rate"])
    yield f(1.0)
    worker = threading.Thread(target=lambda: config.update(rate=9.0))
    worker.start()
    worker.join()
    yield f(1.0)


@row(SAME)
def traced_in_one_thread_and_called_in_another(compiled):
    w = Value(2.0)
    f = compiled(lambda x: x * w)
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(f, 1.0).result()
    w.data = 9.0
    yield f(1.0)
    f(1.0).backward()
    yield w.grad


@row()
def something_local_to_a_thread(compiled):
    local = threading.local()
    local.rate = 2.0
    f = compiled(lambda x: x * getattr(local, "rate", 100.0))
    yield f(1.0)
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(f, 1.0).result()
    local.rate = 9.0
    yield f(1.0)


@row()
def the_name_of_the_thread(compiled):
    f = compiled(lambda x: x * len(threading.current_thread().name))

    def called(name):
        with ThreadPoolExecutor(1, thread_name_prefix=name) as pool:
            return pool.submit(f, 1.0).result()

    yield called("a"), called("worker")


@row()
def a_context_variable(compiled):
    rate = contextvars.ContextVar("rate", default=2.0)
    f = compiled(lambda x: x * rate.get())
    yield f(1.0)
    token = rate.set(9.0)
    yield f(1.0)
    rate.reset(token)
    yield f(1.0)


@row()
def a_queue_is_emptied(compiled):
    work = queue.Queue()
    for k in range(4):
        work.put(float(k + 1))
    f = compiled(lambda x: x * work.get())
    yield [f(1.0) for _ in range(3)]
    yield work.qsize()


@row()
def a_simple_queue_from_c(compiled):
    work = queue.SimpleQueue()
    for k in range(4):
        work.put(float(k + 1))
    f = compiled(lambda x: x * work.get())
    yield [f(1.0) for _ in range(3)]
    yield work.qsize()


@row()
def an_event_is_set(compiled):
    warm = threading.Event()
    f = compiled(lambda x: x * (2.0 if warm.is_set() else 1.0))
    yield f(1.0)
    warm.set()
    yield f(1.0)


@row()
def a_lock_decides(compiled):
    lock = threading.Lock()
    f = compiled(lambda x: x * (2.0 if lock.locked() else 1.0))
    yield f(1.0)
    with lock:
        yield f(1.0)


@row()
def a_semaphore_counts_down(compiled):
    tickets = threading.Semaphore(2)
    f = compiled(lambda x: x * (1.0 if tickets.acquire(blocking=False) else 0.0))
    yield [f(1.0) for _ in range(4)]


@row()
def a_coroutine_is_run_inside(compiled):
    rate = 2.0

    async def scaled(x):
        await asyncio.sleep(0)
        return x * rate

    def drive(coroutine):
        try:
            while True:
                coroutine.send(None)
        except StopIteration as done:
            return done.value

    f = compiled(lambda x: drive(scaled(x)))
    yield f(1.0)
    rate = 9.0
    yield f(1.0)


@row()
def a_coroutine_function_is_compiled(compiled):
    rate = 2.0

    @compiled
    async def f(x):
        return x * rate

    def drive(coroutine):
        try:
            coroutine.send(None)
        except StopIteration as done:
            return done.value

    yield drive(f(1.0))
    rate = 9.0
    yield drive(f(3.0))


@row(SAME)
def a_compiled_function_is_called_from_async(compiled):
    rate = 2.0
    f = compiled(lambda x: x * rate)

    async def loop():
        nonlocal rate
        found = []
        for k in range(3):
            found.append(f(1.0))
            await asyncio.sleep(0)
            rate = float(k)
        return found

    yield asyncio.run(loop())


@row()
def a_future_is_done_later(compiled):
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(lambda: 2.0)
        f = compiled(lambda x: x * future.result())
        yield f(1.0)
        future = pool.submit(lambda: 9.0)
        yield f(1.0)
