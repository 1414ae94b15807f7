SORTED = """
    topo, visited = [], set()

    def build(v):
        if v not in visited:
            visited.add(v)
            for child in v._prev:
                build(child)
            topo.append(v)

    build(self)
    self.grad = 1.0
    for node in reversed(topo):
        node._backward()
"""
ON_THE_WAY_DOWN = """
    topo, visited = [], set()

    def build(v):
        if v not in visited:
            visited.add(v)
            topo.append(v)
            for child in v._prev:
                build(child)

    build(self)
    self.grad = 1.0
    for node in topo:
        node._backward()
"""
BREADTH_FIRST = """
    self.grad = 1.0
    waiting, seen = [self], {self}
    while waiting:
        v = waiting.pop(0)
        v._backward()
        for child in v._prev:
            if child not in seen:
                seen.add(child)
                waiting.append(child)
"""
BY_COUNTING = """
    users, seen, waiting = {}, {self}, [self]
    while waiting:
        for child in waiting.pop()._prev:
            users[child] = users.get(child, 0) + 1
            if child not in seen:
                seen.add(child)
                waiting.append(child)
    self.grad = 1.0
    ready = [self]
    while ready:
        v = ready.pop()
        v._backward()
        for child in v._prev:
            users[child] -= 1
            if not users[child]:
                ready.append(child)
"""
PLAIN_RECURSION = """
    self.grad = 1.0

    def run(v):
        v._backward()
        for child in v._prev:
            run(child)

    run(self)
"""
RIGHT = [[SORTED], [BY_COUNTING]]
MISTAKES = {
    "seeds_again": [
        ["self.grad = 1.0\nself._backward()\nfor child in self._prev:\n    child.backward()"]
    ],
    "no_seed": [[SORTED.replace("    self.grad = 1.0\n", "")]],
    "not_called": [
        [SORTED.replace("node._backward()", "node._backward")],
        [SORTED.replace("    build(self)\n", "")],
    ],
    "result_left_out": [[SORTED.replace("reversed(topo)", "reversed(topo[:-1])")]],
    "only_the_result": [["self.grad = 1.0\nself._backward()"]],
    "children_first": [[SORTED.replace("reversed(topo)", "topo")]],
    "more_than_once": [[PLAIN_RECURSION], [SORTED.replace("if v not in visited", "if True")]],
    "too_early": [
        [ON_THE_WAY_DOWN],
        [BREADTH_FIRST],
        [BREADTH_FIRST.replace("pop(0)", "pop()")],
        [ON_THE_WAY_DOWN.replace("in v._prev", "in reversed(v._prev)")],
    ],
    "otherwise": [[SORTED.replace("1.0", "2.0")]],
}
