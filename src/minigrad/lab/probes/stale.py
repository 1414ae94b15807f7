"""Lab stale: run me with  python probe.py"""

from engine import Value


def diamond():
    """L = (a*b + c) * (a - c), where a and c are used twice."""
    a, b, c = Value(2.0), Value(3.0), Value(4.0)
    L = (a * b + c) * (a - c)
    L.backward()
    return {"a": a.grad, "b": b.grad, "c": c.grad}


def again():
    """z = 3*x + 1, and backward() three times: x.grad after each."""
    x = Value(2.0)
    z = 3 * x + 1
    seen = {}
    for call in ("1st", "2nd", "3rd"):
        z.backward()
        seen[call] = x.grad
    return seen


def deep():
    """The same for x + 1 + 1 + …, ten additions, and four calls."""
    x = z = Value(2.0)
    for _ in range(10):
        z = z + 1
    seen = {}
    for call in ("1st", "2nd", "3rd", "4th"):
        z.backward()
        seen[call] = x.grad
    return seen


EXPERIMENTS = [diamond, again, deep]
RIGHT = {  # worked out by hand
    "diamond": {"a": 4.0, "b": -4.0, "c": -12.0},
    "again": {"1st": 3.0, "2nd": 6.0, "3rd": 9.0},
    "deep": {"1st": 1.0, "2nd": 2.0, "3rd": 3.0, "4th": 4.0},
}
