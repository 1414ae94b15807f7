"""Lab overflow: run me with  python probe.py"""

from engine import Value


def neuron():
    """The neuron of the lecture, o = tanh(x1*w1 + x2*w2 + b)."""
    x1, x2, w1, w2 = Value(2.0), Value(0.0), Value(-3.0), Value(1.0)
    o = (x1 * w1 + x2 * w2 + 6.8813735870195432).tanh()
    o.backward()
    return {"x1": x1.grad, "w1": w1.grad, "x2": x2.grad, "w2": w2.grad}


def tanh_at(x):
    """The value of tanh, or the error that it raises."""
    try:
        return Value(x).tanh().data
    except Exception as error:
        return type(error).__name__


def far():
    """Far out, tanh is 1 on the right and -1 on the left."""
    return {"left": tanh_at(-400.0), "right": tanh_at(400.0)}


def near():
    """Close to 0, tanh(x) is x to nine digits and more."""
    return {"tiny": tanh_at(1e-9)}


EXPERIMENTS = [neuron, far, near]
RIGHT = {  # worked out by hand
    "neuron": {"x1": -1.5, "w1": 1.0, "x2": 0.5, "w2": 0.0},
    "far": {"left": -1.0, "right": 1.0},
    "near": {"tiny": 1e-09},
}
