"""What is there to draw: the third chapter's own part."""


def trace(root):
    """Return all Values below a result, each once, and an arrow from each child to its result."""
    nodes, edges = [], []

    def visit(v):
        if v not in nodes:
            nodes.append(v)
            for child in v._prev:
                edges.append((child, v))
                visit(child)

    visit(root)
    return nodes, edges
