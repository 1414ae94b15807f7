"""Chapter 8: a second backward(), and a training loop."""

from engine import Value, descend


def again():
    """z = 3*x + 1, and backward() three times: x.grad after each, and the product's at the end."""
    x = Value(2.0)
    product = 3 * x
    z = product + 1
    grads = []
    for _ in range(3):
        z.backward()
        grads.append(x.grad)
    named = {f"x.grad after backward() no. {k + 1}": number for k, number in enumerate(grads)}
    return named | {"(3*x).grad at the end": product.grad}


def descent():
    """Steps down (w - 3)**2 from w = 2, at a rate of 1/4: each halves the distance to 3."""
    w = Value(2.0)
    found = {}
    for k in (1, 2, 3):
        descend(lambda: (w - 3) ** 2, [w], 0.25, 1)
        found[f"w after step {k}"] = w.data
    w = Value(2.0)
    descend(lambda: (w - 3) ** 2, [w], 0.25, 4)
    return found | {"w after four steps in one call": w.data}


def deeper():
    """(3*x + 1) * 2 has two Values between x and the result, and both must be cleared."""
    x = Value(2.0)
    z = (3 * x + 1) * 2
    z.backward()
    z.backward()
    return {"x.grad after two passes of (3*x + 1)*2": x.grad}


def several():
    """Two steps down (w - 3)**2 + (v - 5)**2 from w = 2 and v = 3, at the same rate."""
    w, v = Value(2.0), Value(3.0)
    descend(lambda: (w - 3) ** 2 + (v - 5) ** 2, [w, v], 0.25, 2)
    return {"w of two, after two steps": w.data, "v of two, after two steps": v.data}


EXPERIMENTS = [again, deeper, descent, several]
RIGHT = {  # worked out by hand
    "again": {
        "x.grad after backward() no. 1": 3.0,
        "x.grad after backward() no. 2": 6.0,
        "x.grad after backward() no. 3": 9.0,
        "(3*x).grad at the end": 1.0,
    },
    "deeper": {"x.grad after two passes of (3*x + 1)*2": 12.0},
    "descent": {
        "w after step 1": 2.5,
        "w after step 2": 2.75,
        "w after step 3": 2.875,
        "w after four steps in one call": 2.9375,
    },
    "several": {"w of two, after two steps": 2.75, "v of two, after two steps": 4.5},
}
MISTAKES = {
    "not_begun": {
        "again": {"x.grad after backward() no. 2": 9.0},
        "descent": {"w after step 2": 3.25},
    },
    "leaves_cleared": {
        "again": {"x.grad after backward() no. 2": 3.0, "x.grad after backward() no. 3": 3.0},
    },
    "stale": {"again": {"x.grad after backward() no. 2": 9.0}},
    "only_children": {
        "again": {"x.grad after backward() no. 2": 6.0, "(3*x).grad at the end": 1.0},
        "deeper": {"x.grad after two passes of (3*x + 1)*2": 18.0},
    },
    "leaves_instead": {
        "again": {"x.grad after backward() no. 2": 6.0, "(3*x).grad at the end": 3.0},
    },
    "too_late": {"again": {"x.grad after backward() no. 1": 0.0}},
    "cleared_after_the_pass": {
        "again": {"x.grad after backward() no. 3": 9.0, "(3*x).grad at the end": 0.0},
    },
    "no_such_method": {"descent": {"error": "AttributeError"}},
    "data_cleared": {"descent": {"w after step 1": 0.5}},
    "zeroed_too_late": {"descent": {"w after step 1": 2.0}},
    "zeroed_once": {
        "descent": {"w after step 2": 2.75, "w after four steps in one call": 4.0625},
    },
    "never_zeroed": {"descent": {"w after step 1": 2.5, "w after step 2": 3.25}},
    "one_parameter": {
        "several": {"w of two, after two steps": 2.75, "v of two, after two steps": 5.5},
    },
}
