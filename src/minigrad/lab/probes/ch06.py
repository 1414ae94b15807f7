"""Chapter 6: does backward() run every rule once, and after the rules of all that use it?"""

from engine import Value


def chain():
    """L = (a*b + c) * f, where every Value is used once."""
    a, b, c, f = Value(2.0), Value(-3.0), Value(10.0), Value(-2.0)
    L = (a * b + c) * f
    L.backward()
    return {"L.grad": L.grad, "f.grad": f.grad, "a.grad": a.grad, "c.grad": c.grad}


def order():
    """L = d + d*c with d = a*b, and d*c + d: d is used twice, and must wait for both."""
    there, mirrored = ran_in(lambda d, dc: d + dc), ran_in(lambda d, dc: dc + d)
    return {
        "times that d ran": max(there.count("d"), mirrored.count("d")),
        "times that d*c ran": max(there.count("dc"), mirrored.count("dc")),
        "d ran after d*c": waited(there) and waited(mirrored),
    }


def ran_in(total):
    """Name the rules that run in the backward pass of d and d*c together, in their order."""
    a, b, c = Value(2.0), Value(3.0), Value(4.0)
    d = a * b
    dc = d * c
    L = total(d, dc)
    ran = []
    for name, v in (("d", d), ("dc", dc), ("L", L)):
        v._backward = noted(name, v._backward, ran)
    L.backward()
    return ran


def waited(ran):
    """Whether d ran, and only after the last time that d*c did."""
    return "d" in ran and "dc" in ran and "dc" not in ran[ran.index("d") :]


def noted(name, rule, ran):
    """Have a rule leave its name behind when it runs."""

    def run():
        ran.append(name)
        rule()

    return run


EXPERIMENTS = [chain, order]
RIGHT = {  # worked out by hand
    "chain": {"L.grad": 1.0, "f.grad": 4.0, "a.grad": 6.0, "c.grad": -2.0},
    "order": {"times that d ran": 1.0, "times that d*c ran": 1.0, "d ran after d*c": 1.0},
}
MISTAKES = {
    "seeds_again": {"chain": {"f.grad": 1.0}},
    "no_seed": {"chain": {"L.grad": 0.0, "f.grad": 0.0}},
    "not_called": {
        "chain": {"L.grad": 1.0, "f.grad": 0.0},
        "order": {"times that d*c ran": 0.0},
    },
    "result_left_out": {
        "chain": {"L.grad": 1.0, "f.grad": 0.0},
        "order": {"times that d*c ran": 1.0},
    },
    "only_the_result": {"chain": {"f.grad": 4.0}, "order": {"times that d ran": 0.0}},
    "children_first": {"chain": {"f.grad": 4.0, "a.grad": 0.0}},
    "more_than_once": {"order": {"times that d ran": 2.0}},
    "too_early": {"chain": {"a.grad": 6.0}, "order": {"d ran after d*c": 0.0}},
}
