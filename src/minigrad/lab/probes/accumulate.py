"""Lab accumulate: run me with  python probe.py"""

from engine import Value


def chain():
    """L = (a*b + c) * f, where every Value is used once."""
    a, b, c, f = Value(2.0), Value(-3.0), Value(10.0), Value(-2.0)
    L = (a * b + c) * f
    L.backward()
    return {"a": a.grad, "b": b.grad, "c": c.grad, "f": f.grad}


def diamond():
    """L = (a*b + c) * (a - c), where a and c are used twice."""
    a, b, c = Value(2.0), Value(3.0), Value(4.0)
    L = (a * b + c) * (a - c)
    L.backward()
    return {"a": a.grad, "b": b.grad, "c": c.grad}


def twice():
    """b = a + a, the smallest case."""
    a = Value(3.0)
    b = a + a
    b.backward()
    return {"a": a.grad}


EXPERIMENTS = [chain, diamond, twice]
RIGHT = {  # worked out by hand
    "chain": {"a": 6.0, "b": -4.0, "c": -2.0, "f": 4.0},
    "diamond": {"a": 4.0, "b": -4.0, "c": -12.0},
    "twice": {"a": 2.0},
}
