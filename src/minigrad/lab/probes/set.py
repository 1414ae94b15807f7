"""Lab set: run me with  python probe.py"""

from engine import Value


def diamond():
    """L = (a*b + c) * (a - c), where a and c are used twice."""
    a, b, c = Value(2.0), Value(3.0), Value(4.0)
    L = (a * b + c) * (a - c)
    L.backward()
    return {"a": a.grad, "b": b.grad, "c": c.grad}


def twice():
    """b = a + a: two edges from one Value."""
    a = Value(3.0)
    b = a + a
    b.backward()
    return {"a": a.grad}


def square():
    """b = a * a, the same with a product."""
    a = Value(3.0)
    b = a * a
    b.backward()
    return {"a": a.grad}


EXPERIMENTS = [diamond, twice, square]
RIGHT = {  # worked out by hand
    "diamond": {"a": 4.0, "b": -4.0, "c": -12.0},
    "twice": {"a": 2.0},
    "square": {"a": 6.0},
}
