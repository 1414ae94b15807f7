WITH_SETS = """
    nodes, edges = set(), []

    def build(v):
        if v not in nodes:
            nodes.add(v)
            for child in v._prev:
                edges.append((child, v))
                build(child)

    build(root)
    return nodes, edges
"""
WITH_A_STACK = """
    nodes, edges, waiting = [root], [], [root]
    while waiting:
        v = waiting.pop()
        for child in v._prev:
            edges.append((child, v))
            if child not in nodes:
                nodes.append(child)
                waiting.append(child)
    return nodes, edges
"""
ARROW_TO_NEW_ONES = """
    nodes, edges = [root], []

    def visit(v):
        for child in v._prev:
            if child not in nodes:
                nodes.append(child)
                edges.append((child, v))
                visit(child)

    visit(root)
    return nodes, edges
"""
RIGHT = [[WITH_SETS], [WITH_A_STACK]]
MISTAKES = {
    "nothing_returned": [[WITH_SETS.replace("    return nodes, edges\n", "")]],
    "one_level": [
        ["return [root, *root._prev], [(child, root) for child in root._prev]"],
        [
            WITH_SETS.replace("                build(child)\n", "").replace(
                "nodes.add(v)", "nodes.update([v, *v._prev])"
            )
        ],
    ],
    "without_the_result": [[WITH_SETS.replace("return nodes", "return nodes - {root}")]],
    "backwards": [[WITH_SETS.replace("(child, v)", "(v, child)")]],
    "again_and_again": [[WITH_SETS.replace("if v not in nodes", "if True")]],
    "one_arrow": [
        [ARROW_TO_NEW_ONES],
        [WITH_SETS.replace("set(), []", "set(), set()").replace("edges.append", "edges.add")],
    ],
    "one_thing": [[WITH_SETS.replace("return nodes, edges", "return nodes")]],
    "turned_around": [[WITH_SETS.replace("return nodes, edges", "return edges, nodes")]],
    "nothing_found": [["return [], []"], [WITH_SETS.replace("    build(root)\n", "")]],
    "numbers_kept": [
        [
            WITH_SETS.replace("nodes.add(v)", "nodes.add(v.data)").replace(
                "if v not", "if v.data not"
            )
        ],
        [WITH_SETS.replace("return nodes,", "return [v.data for v in nodes],")],
    ],
    "otherwise": [[WITH_SETS.replace("(child, v)", "(child, root)")]],
}
