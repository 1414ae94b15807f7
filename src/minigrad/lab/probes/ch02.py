"""Chapter 2: does a product have the right number, and does it remember what it was made of?"""

from engine import Value


def product():
    """a * b at a = 2, b = -3."""
    a, b = Value(2.0), Value(-3.0)
    return {"(a*b).data": (a * b).data}


def children():
    """How many children a product has, and whether they are the two Values themselves."""
    a, b = Value(2.0), Value(-3.0)
    made = (a * b)._prev
    return {
        "len((a*b)._prev)": len(made),
        "(a*b)._prev[0] is a": bool(made) and made[0] is a,
        "(a*b)._prev[-1] is b": bool(made) and made[-1] is b,
    }


def repeated():
    """a * a has two children, and they are the same Value."""
    a = Value(3.0)
    return {"len((a*a)._prev)": len((a * a)._prev)}


def numbers():
    """Plain numbers on either side."""
    a = Value(2.0)
    return {"(a*10).data": (a * 10).data, "(10*a).data": (10 * a).data, "(-a).data": (-a).data}


def longer():
    """The chapter's own expression, a*b + c."""
    a, b, c = Value(2.0), Value(-3.0), Value(10.0)
    return {"(a*b + c).data": (a * b + c).data}


EXPERIMENTS = [product, children, repeated, numbers, longer]
RIGHT = {  # worked out by hand
    "product": {"(a*b).data": -6.0},
    "children": {
        "len((a*b)._prev)": 2.0,
        "(a*b)._prev[0] is a": 1.0,
        "(a*b)._prev[-1] is b": 1.0,
    },
    "repeated": {"len((a*a)._prev)": 2.0},
    "numbers": {"(a*10).data": 20.0, "(10*a).data": 20.0, "(-a).data": -2.0},
    "longer": {"(a*b + c).data": 4.0},
}
MISTAKES = {
    "a_plain_number": {"product": {"error": "AttributeError"}},
    "adds": {"product": {"(a*b).data": -1.0}},
    "forgets": {"product": {"(a*b).data": -6.0}, "children": {"len((a*b)._prev)": 0.0}},
    "one_child": {"product": {"(a*b).data": -6.0}, "repeated": {"len((a*a)._prev)": 1.0}},
    "numbers_not_wrapped": {
        "product": {"(a*b).data": -6.0},
        "children": {"len((a*b)._prev)": 2.0},
        "numbers": {"error": "AttributeError"},
    },
    "keeps_numbers": {
        "product": {"(a*b).data": -6.0},
        "children": {"len((a*b)._prev)": 2.0, "(a*b)._prev[0] is a": 0.0},
    },
    "calls_itself": {"product": {"error": "RecursionError"}},
    "children_apart": {"product": {"error": "TypeError"}},
}
