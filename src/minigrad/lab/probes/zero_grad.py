"""Lab zero_grad: run me with  python probe.py"""

from engine import Value, descend


def diamond():
    """L = (a*b + c) * (a - c), where a and c are used twice."""
    a, b, c = Value(2.0), Value(3.0), Value(4.0)
    L = (a * b + c) * (a - c)
    L.backward()
    return {"a": a.grad, "b": b.grad, "c": c.grad}


def training():
    """Five steps down (w - 3)**2 from w = 0: each one halves the distance to 3."""
    w = Value(0.0)
    seen = {}
    for step in range(1, 6):
        descend(lambda: (w - 3) ** 2, [w], rate=0.25, steps=1)
        seen[f"w{step}"] = w.data
    return seen


EXPERIMENTS = [diamond, training]
RIGHT = {  # worked out by hand
    "diamond": {"a": 4.0, "b": -4.0, "c": -12.0},
    "training": {"w1": 1.5, "w2": 2.25, "w3": 2.625, "w4": 2.8125, "w5": 2.90625},
}
