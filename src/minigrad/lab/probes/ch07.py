"""Chapter 7: Values that are used more than once, in every operation."""

from engine import Value


def small():
    """a + a and a * a at a = 3."""
    a, b = Value(3.0), Value(3.0)
    (a + a).backward()
    (b * b).backward()
    return {"a + a": a.grad, "a * a": b.grad}


def the_diamond():
    """L = (a*b + c) * (a - c) at 2, 3, 4."""
    a, b, c = Value(2.0), Value(3.0), Value(4.0)
    L = (a * b + c) * (a - c)
    L.backward()
    return {"diamond a": a.grad, "diamond b": b.grad, "diamond c": c.grad}


def operations():
    """op(x) + x at 0.5: the 1 of the second x must survive, whichever operation comes after it."""
    expressions = {
        "x + 2": lambda x: x + Value(2.0),
        "2 + x": lambda x: Value(2.0) + x,
        "x * 2": lambda x: x * Value(2.0),
        "2 * x": lambda x: Value(2.0) * x,
        "x ** 2": lambda x: x**2,
        "tanh(x)": lambda x: x.tanh(),
        "exp(x)": lambda x: x.exp(),
        "relu(x)": lambda x: x.relu(),
    }
    slopes = {}
    for name, expression in expressions.items():
        x = Value(0.5)
        (expression(x) + x * 1).backward()
        slopes[f"{name} + x"] = x.grad
    return slopes


EXPERIMENTS = [small, the_diamond, operations]
RIGHT = {  # worked out by hand
    "small": {"a + a": 2.0, "a * a": 6.0},
    "the_diamond": {"diamond a": 4.0, "diamond b": -4.0, "diamond c": -12.0},
    "operations": {
        "x + 2 + x": 2.0,
        "2 + x + x": 2.0,
        "x * 2 + x": 3.0,
        "2 * x + x": 3.0,
        "x ** 2 + x": 2.0,
        "tanh(x) + x": 1.7864477329659274,
        "exp(x) + x": 2.6487212707001282,
        "relu(x) + x": 2.0,
    },
}
MISTAKES = {
    "too_much": {"small": {"error": "AttributeError"}},
    "overwrite": {"small": {"a + a": 1.0, "a * a": 3.0}, "operations": {"x + 2 + x": 1.0}},
    "other_forgotten": {"operations": {"x + 2 + x": 2.0, "2 + x + x": 1.0}},
    "self_forgotten": {"operations": {"x + 2 + x": 1.0, "2 + x + x": 2.0}},
    "products_forgotten": {"small": {"a + a": 2.0, "a * a": 3.0}},
    "sums_forgotten": {"small": {"a + a": 1.0, "a * a": 6.0}},
    "one_operand_left": {
        "small": {"a + a": 2.0, "a * a": 6.0},
        "operations": {"tanh(x) + x": 0.7864477329659274},
    },
}
