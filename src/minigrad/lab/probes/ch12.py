"""Chapter 12: is it still the same function, and how often must the compiler look at it?"""

from engine import total

import minigrad
from minigrad import Value

PLACES = [[3.0, 20.0], [3.0, -20.0], [-30.0, 20.0], [-30.0, -20.0]]


def values():
    """The sum in four places, as the engine computes it."""
    names = ("(3, 20)", "(3, -20)", "(-30, 20)", "(-30, -20)")
    sums = [total([Value(x) for x in place]).data for place in PLACES]
    return {f"total at {name}": number for name, number in zip(names, sums)}


def longer():
    """The sum of three numbers: a list may have any length."""
    return {"total at (3, -20, 5)": total([Value(3.0), Value(-20.0), Value(5.0)]).data}


def slopes():
    """How the sum moves with a positive number, and with a negative one."""
    xs = [Value(3.0), Value(-20.0)]
    total(xs).backward()
    return {"slope at 3": xs[0].grad, "slope at -20": xs[1].grad}


def compiled():
    """How often the compiler has to watch it for the four places."""
    fast = minigrad.compile(total)
    found = [fast(place).data for place in PLACES]
    return {
        "times that the compiler watched": fast.cache_info().traces,
        "compiled, total at (-30, 20)": found[2],
    }


EXPERIMENTS = [values, longer, slopes, compiled]
RIGHT = {  # worked out by hand
    "values": {
        "total at (3, 20)": 23.0,
        "total at (3, -20)": 1.0,
        "total at (-30, 20)": 17.0,
        "total at (-30, -20)": -5.0,
    },
    "longer": {"total at (3, -20, 5)": 6.0},
    "slopes": {"slope at 3": 1.0, "slope at -20": 0.1},
    "compiled": {"times that the compiler watched": 1.0, "compiled, total at (-30, 20)": 17.0},
}
MISTAKES = {
    "still_a_branch": {
        "values": {"total at (3, -20)": 1.0},
        "slopes": {"slope at 3": 1.0, "slope at -20": 0.1},
        "compiled": {"times that the compiler watched": 4.0},
    },
    "turned_around": {"values": {"total at (3, 20)": 2.3, "total at (-30, -20)": -50.0}},
    "cut_off": {"values": {"total at (3, 20)": 23.0, "total at (-30, -20)": 0.0}},
    "data_only": {"slopes": {"slope at 3": 0.0, "slope at -20": 0.0}},
    "two_numbers": {"longer": {"total at (3, -20, 5)": 1.0}},
}
