"""Chapter 13: a parabola, which takes one step, and a curve that takes a few."""

from engine import newton


def parabola():
    """(x - 3)**2 + 1 from 10: one step is enough, for a parabola is its own best parabola."""
    return {"(x - 3)**2 + 1 from 10, one step": newton(lambda x: (x - 3) ** 2 + 1, 10.0, 1)}


def curve():
    """x**4 from 3: each step takes a third of the way. And exp(x) - 2*x from 0: to log 2."""
    found = newton(lambda x: x.exp() - 2 * x, 0.0, 6)
    return {
        "x**4 from 3, one step": newton(lambda x: x**4, 3.0, 1),
        "x**4 from 3, two steps": newton(lambda x: x**4, 3.0, 2),
        "exp(x) - 2*x from 0, six steps": round(found, 9),
    }


EXPERIMENTS = [parabola, curve]
RIGHT = {  # worked out by hand: x - x/3 for x**4; exp(x) = 2 at log 2
    "parabola": {"(x - 3)**2 + 1 from 10, one step": 3.0},
    "curve": {
        "x**4 from 3, one step": 2.0,
        "x**4 from 3, two steps": 1.3333333333333333,
        "exp(x) - 2*x from 0, six steps": 0.693147181,
    },
}
MISTAKES = {
    "uphill": {"parabola": {"(x - 3)**2 + 1 from 10, one step": 17.0}},
    "towards_a_root": {"parabola": {"(x - 3)**2 + 1 from 10, one step": 6.428571428571429}},
    "not_divided": {"parabola": {"(x - 3)**2 + 1 from 10, one step": -4.0}},
    "multiplied": {"parabola": {"(x - 3)**2 + 1 from 10, one step": -18.0}},
    "no_graph": {"parabola": {"error": "TypeError"}},
    "one_step_only": {
        "parabola": {"(x - 3)**2 + 1 from 10, one step": 3.0},
        "curve": {"x**4 from 3, two steps": 2.0},
    },
    "turned_over": {"parabola": {"(x - 3)**2 + 1 from 10, one step": 9.857142857142858}},
    "a_value_returned": {"parabola": {"error": "Value"}},
}
