"""Lab tanh: run me with  python probe.py"""

from engine import Value


def diamond():
    """L = (a*b + c) * (a - c), where a and c are used twice."""
    a, b, c = Value(2.0), Value(3.0), Value(4.0)
    L = (a * b + c) * (a - c)
    L.backward()
    return {"a": a.grad, "b": b.grad, "c": c.grad}


def origin():
    """tanh(x) at 0, where its slope is 1."""
    x = Value(0.0)
    x.tanh().backward()
    return {"x": x.grad}


def neuron():
    """The neuron of the lecture, o = tanh(x1*w1 + x2*w2 + b)."""
    x1, x2, w1, w2 = Value(2.0), Value(0.0), Value(-3.0), Value(1.0)
    o = (x1 * w1 + x2 * w2 + 6.8813735870195432).tanh()
    o.backward()
    return {"x1": x1.grad, "w1": w1.grad, "x2": x2.grad, "w2": w2.grad}


EXPERIMENTS = [diamond, origin, neuron]
RIGHT = {  # worked out by hand
    "diamond": {"a": 4.0, "b": -4.0, "c": -12.0},
    "origin": {"x": 1.0},
    "neuron": {"x1": -1.5, "w1": 1.0, "x2": 0.5, "w2": 0.0},
}
