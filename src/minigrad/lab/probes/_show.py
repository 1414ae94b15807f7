"""The end of every probe: run the experiments, print what they measured next to what is right."""

import math


def spell(number):
    """Print a number with the digits that matter here."""
    return number if isinstance(number, str) else f"{number:.9g}"


def line(title, numbers):
    """Write numbers by their names."""
    return f"{title:<10}" + "   ".join(f"{key} {spell(x)}" for key, x in numbers.items())


def same(x, y):
    """Compare numbers but for rounding; an error is known by its name."""
    if isinstance(x, str) or isinstance(y, str):
        return x == y
    return math.isclose(x, y, rel_tol=1e-9)


def show(experiments, right):
    """Print what each experiment measured, and where that is wrong, what it should be."""
    for experiment in experiments:
        name = experiment.__name__
        measured = experiment()
        if all(same(measured[key], x) for key, x in right[name].items()):
            print(line(name, measured), "  ok")
        else:
            print(line(name, measured), "  WRONG")
            print(line("should be", right[name]))
