"""Newton's method: the thirteenth chapter's own file."""

from minigrad import Value, grad


def newton(f, start, steps):
    """Go to where the slope of f is 0, by the slope and the slope of the slope."""
    x = start
    for _ in range(steps):
        here = Value(x)
        first = grad(f(here), here, create_graph=True)
        second = grad(first, here)
        x = x - first.data / second
    return x
