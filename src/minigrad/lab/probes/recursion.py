"""Lab recursion: run me with  python probe.py"""

from engine import Value


def diamond():
    """L = (a*b + c) * (a - c), where a and c are used twice."""
    a, b, c = Value(2.0), Value(3.0), Value(4.0)
    L = (a * b + c) * (a - c)
    L.backward()
    return {"a": a.grad, "b": b.grad, "c": c.grad}


def chain_of(length):
    """x + 1 + 1 + …: the derivative is 1, however long it is."""
    chain = [Value(2.0)]
    for _ in range(length):
        chain.append(chain[-1] + 1)
    try:
        chain[-1].backward()
    except Exception as error:
        return {"x": type(error).__name__}
    return {"x": chain[0].grad}


def short():
    """Ten additions."""
    return chain_of(10)


def long():
    """Five thousand."""
    return chain_of(5000)


EXPERIMENTS = [diamond, short, long]
RIGHT = {  # worked out by hand
    "diamond": {"a": 4.0, "b": -4.0, "c": -12.0},
    "short": {"x": 1.0},
    "long": {"x": 1.0},
}
