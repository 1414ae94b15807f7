"""Lab order: run me with  python probe.py"""

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


def ladder():
    """L = d + d*c with d = a*b: d is used twice, and once as part of something larger."""
    a, b, c = Value(2.0), Value(3.0), Value(4.0)
    d = a * b
    L = d + d * c
    L.backward()
    return {"a": a.grad, "b": b.grad, "c": c.grad, "d": d.grad}


EXPERIMENTS = [chain, diamond, ladder]
RIGHT = {  # worked out by hand
    "chain": {"a": 6.0, "b": -4.0, "c": -2.0, "f": 4.0},
    "diamond": {"a": 4.0, "b": -4.0, "c": -12.0},
    "ladder": {"a": 15.0, "b": 10.0, "c": 6.0, "d": 5.0},
}
