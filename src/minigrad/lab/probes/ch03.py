"""Chapter 3: is every Value found once, and every arrow?"""

from engine import Value, trace


def a_tree():
    """a*b + c: three leaves, two results, four arrows from children to results."""
    a, b, c = Value(2.0), Value(-3.0), Value(10.0)
    nodes, edges = trace(a * b + c)
    return {
        "nodes of a*b + c": len(nodes),
        "arrows of a*b + c": len(edges),
        "arrows that point to the result": sum(x in y._prev for x, y in edges),
    }


def two_arrows():
    """a + a: one leaf, one result, and two arrows between them."""
    a = Value(3.0)
    nodes, edges = trace(a + a)
    return {"nodes of a + a": len(nodes), "arrows of a + a": len(edges)}


def shared():
    """d + d*c with d = a*b: d is below two results, and counts once."""
    a, b, c = Value(2.0), Value(3.0), Value(4.0)
    d = a * b
    nodes, edges = trace(d + d * c)
    return {"nodes of d + d*c, d = a*b": len(nodes), "arrows of d + d*c, d = a*b": len(edges)}


def alike():
    """a + b where both are 3: two Values, although it is the same number."""
    a, b = Value(3.0), Value(3.0)
    nodes, _ = trace(a + b)
    return {
        "nodes of a + b, both 3": len(nodes),
        "Values among them": sum(isinstance(v, Value) for v in nodes),
    }


EXPERIMENTS = [a_tree, two_arrows, shared, alike]
RIGHT = {  # counted by hand
    "a_tree": {
        "nodes of a*b + c": 5.0,
        "arrows of a*b + c": 4.0,
        "arrows that point to the result": 4.0,
    },
    "two_arrows": {"nodes of a + a": 2.0, "arrows of a + a": 2.0},
    "shared": {"nodes of d + d*c, d = a*b": 6.0, "arrows of d + d*c, d = a*b": 6.0},
    "alike": {"nodes of a + b, both 3": 3.0, "Values among them": 3.0},
}
MISTAKES = {
    "nothing_returned": {"a_tree": {"error": "None"}},
    "one_thing": {"a_tree": {"error": "ValueError"}},
    "turned_around": {"a_tree": {"error": "TypeError"}},
    "nothing_found": {"a_tree": {"nodes of a*b + c": 0.0}},
    "one_level": {"a_tree": {"nodes of a*b + c": 3.0, "arrows of a*b + c": 2.0}},
    "without_the_result": {"a_tree": {"nodes of a*b + c": 4.0}},
    "backwards": {
        "a_tree": {"nodes of a*b + c": 5.0, "arrows that point to the result": 0.0},
    },
    "again_and_again": {
        "a_tree": {"nodes of a*b + c": 5.0},
        "shared": {"arrows of d + d*c, d = a*b": 8.0},
    },
    "one_arrow": {
        "a_tree": {"nodes of a*b + c": 5.0},
        "two_arrows": {"nodes of a + a": 2.0, "arrows of a + a": 1.0},
    },
    "numbers_kept": {"alike": {"Values among them": 0.0}},
}
