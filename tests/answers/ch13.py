STEP = """
    x = start
    for _ in range(steps):
        here = Value(x)
        first = grad(f(here), here, create_graph=True)
        second = grad(first, here)
        x = x - first.data / second
    return x
"""
WITH_VALUES = """
    x = Value(start)
    for _ in range(steps):
        slope = grad(f(x), x, create_graph=True)
        x = Value((x - slope / grad(slope, x)).data)
    return x.data
"""
MOVE = "x - first.data / second"
RIGHT = [[STEP], [WITH_VALUES]]
MISTAKES = {
    "uphill": [[STEP.replace(MOVE, "x + first.data / second")]],
    "towards_a_root": [[STEP.replace(MOVE, "x - f(here).data / first.data")]],
    "not_divided": [[STEP.replace(MOVE, "x - first.data")]],
    "multiplied": [[STEP.replace(MOVE, "x - first.data * second")]],
    "no_graph": [
        [STEP.replace(", create_graph=True", "")],
        [STEP.replace("Value(x)", "x")],
    ],
    "one_step_only": [
        [STEP.replace("range(steps)", "range(1)")],
        [STEP.replace("    return x", "        return x")],
    ],
    "turned_over": [[STEP.replace(MOVE, "x - second / first.data")]],
    "a_value_returned": [[WITH_VALUES.replace("return x.data", "return x")]],
    "otherwise": [[STEP.replace(MOVE, "x - first.data / second / 2")]],
}
