"""Chapter 5: the local rules of * and tanh, each asked by itself, with a gradient that is not 1."""

from engine import Value


def product():
    """a * b at a = 2, b = -3, where the gradient of the product is 5."""
    a, b = Value(2.0), Value(-3.0)
    c = a * b
    c.grad = 5.0
    c._backward()
    return {"a*b passes on to a": a.grad, "a*b passes on to b": b.grad}


def with_nothing():
    """a * b at a = 0, b = 4, where the gradient of the product is 2."""
    a, b = Value(0.0), Value(4.0)
    c = a * b
    c.grad = 2.0
    c._backward()
    return {"0*b passes on to 0": a.grad, "0*b passes on to b": b.grad}


def bend():
    """tanh where it is 0.6, and its gradient is 2."""
    x = Value(0.6931471805599453)
    t = x.tanh()
    t.grad = 2.0
    t._backward()
    return {"tanh passes on to x": x.grad}


def the_neuron():
    """The neuron of chapter 4, by one call for each result."""
    x1, w1, b = Value(2.0), Value(-3.0), Value(6.881373587019543)
    x1w1 = x1 * w1
    n = x1w1 + b
    o = n.tanh()
    o.grad = 1.0
    for v in (o, n, x1w1):
        v._backward()
    return {"x1.grad of the neuron": x1.grad, "w1.grad of the neuron": w1.grad}


EXPERIMENTS = [product, with_nothing, bend, the_neuron]
RIGHT = {  # worked out by hand
    "product": {"a*b passes on to a": -15.0, "a*b passes on to b": 10.0},
    "with_nothing": {"0*b passes on to 0": 8.0, "0*b passes on to b": 0.0},
    "bend": {"tanh passes on to x": 1.28},
    "the_neuron": {"x1.grad of the neuron": -1.5, "w1.grad of the neuron": 1.0},
}
MISTAKES = {
    "no_out_grad": {"product": {"a*b passes on to a": -3.0, "a*b passes on to b": 2.0}},
    "own_number": {"product": {"a*b passes on to a": 10.0, "a*b passes on to b": -15.0}},
    "as_a_sum": {"product": {"a*b passes on to a": 5.0, "a*b passes on to b": 5.0}},
    "times_the_result": {"product": {"a*b passes on to a": -30.0}},
    "out_data": {"product": {"a*b passes on to a": 18.0, "a*b passes on to b": -12.0}},
    "tanh_no_out_grad": {"bend": {"tanh passes on to x": 0.64}},
    "tanh_not_squared": {"bend": {"tanh passes on to x": 0.8}},
    "tanh_of_x": {"bend": {"tanh passes on to x": 1.0390939721639116}},
    "tanh_sign": {"bend": {"tanh passes on to x": -1.28}},
    "other_forgotten": {"product": {"a*b passes on to a": -15.0, "a*b passes on to b": 0.0}},
    "tanh_brackets": {"bend": {"tanh passes on to x": 0.28}},
    "nothing_set": {"product": {"a*b passes on to a": 0.0, "a*b passes on to b": 0.0}},
    "divides": {"with_nothing": {"error": "ZeroDivisionError"}},
}
