"""Chapter 4: the gradients of a neuron, in two places, so that they cannot be numbers by heart."""

from engine import Value, fill_in


def gradients(numbers):
    """Build the neuron, have its gradients filled in, and read them."""
    x1, w1, x2, w2, b = map(Value, numbers)
    x1w1, x2w2 = x1 * w1, x2 * w2
    total = x1w1 + x2w2
    n = total + b
    o = n.tanh()
    fill_in(x1, w1, x2, w2, b, x1w1, x2w2, total, n, o)
    named = {"o": o, "n": n, "total": total, "b": b, "x1w1": x1w1, "x2w2": x2w2}
    named |= {"x1": x1, "w1": w1, "x2": x2, "w2": w2}
    return {f"{name}.grad": v.grad for name, v in named.items()}


def lecture():
    """The neuron of the lecture: o is the root of 1/2, so 1 - o**2 is 1/2."""
    return gradients((2.0, -3.0, 0.0, 1.0, 6.881373587019543))


def elsewhere():
    """Another place: o is 0.6, so 1 - o**2 is 0.64."""
    there = gradients((1.0, -1.0, 2.0, 0.5, 0.6931471805599453))
    return {f"{name} elsewhere": grad for name, grad in there.items()}


EXPERIMENTS = [lecture, elsewhere]
RIGHT = {  # worked out by hand
    "lecture": {
        "o.grad": 1.0,
        "n.grad": 0.5,
        "total.grad": 0.5,
        "b.grad": 0.5,
        "x1w1.grad": 0.5,
        "x2w2.grad": 0.5,
        "x1.grad": -1.5,
        "w1.grad": 1.0,
        "x2.grad": 0.5,
        "w2.grad": 0.0,
    },
    "elsewhere": {
        "o.grad elsewhere": 1.0,
        "n.grad elsewhere": 0.64,
        "total.grad elsewhere": 0.64,
        "b.grad elsewhere": 0.64,
        "x1w1.grad elsewhere": 0.64,
        "x2w2.grad elsewhere": 0.64,
        "x1.grad elsewhere": -0.64,
        "w1.grad elsewhere": 0.64,
        "x2.grad elsewhere": 0.32,
        "w2.grad elsewhere": 1.28,
    },
}
MISTAKES = {
    "no_seed": {"lecture": {"o.grad": 0.0}},
    "tanh_of_n": {"lecture": {"n.grad": 0.22318060010951885}},
    "not_squared": {"lecture": {"n.grad": 0.29289321881345254}},
    "tanh_skipped": {"lecture": {"o.grad": 1.0, "n.grad": 1.0}},
    "own_number": {"lecture": {"n.grad": 0.5, "x1.grad": 1.0, "w1.grad": -1.5}},
    "chain_cut": {"lecture": {"n.grad": 0.5, "x1.grad": -3.0, "w1.grad": 2.0}},
    "bias_forgotten": {"lecture": {"n.grad": 0.5, "b.grad": 0.0, "total.grad": 0.5}},
    "left_out": {"lecture": {"n.grad": 0.5, "total.grad": 0.0, "x1.grad": -1.5}},
    "by_heart": {
        "lecture": {"n.grad": 0.5, "x1.grad": -1.5},
        "elsewhere": {"x1.grad elsewhere": -1.5},
    },
    "weight_forgotten": {
        "lecture": {"n.grad": 0.5, "x2.grad": 0.5},
        "elsewhere": {"x2w2.grad elsewhere": 0.64, "x2.grad elsewhere": 0.64},
    },
}
