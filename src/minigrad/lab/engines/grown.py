"""The seventh version, grown up a little, for the labs about what comes after it.

Three things are new here:

- `backward()` sorts with a stack of its own instead of recursion: depth is no problem.
- `backward()` clears the gradients of interior nodes first, so that a second call adds the same
  gradient to the leaves again, and nothing else.
- `descend` is a training loop. It sets the gradients of the parameters to zero before every pass.
"""


class Value:
    """The rest is as in the seventh version: `labs.py` puts it around these methods."""

    def backward(self):
        topo = self._sorted()
        for node in topo:
            if node._prev:
                node.grad = 0.0
        self.grad = 1.0
        for node in reversed(topo):
            node._backward()

    def _sorted(self):
        topo = []
        visited = set()
        stack = [(self, False)]
        while stack:
            node, children_are_in = stack.pop()
            if children_are_in:
                topo.append(node)
            elif node not in visited:
                visited.add(node)
                stack.append((node, True))
                stack += [(child, False) for child in reversed(node._prev)]
        return topo


def descend(loss_of, parameters, rate, steps):
    """Take some steps of gradient descent."""
    for _ in range(steps):
        loss = loss_of()
        for p in parameters:
            p.grad = 0.0
        loss.backward()
        for p in parameters:
            p.data -= rate * p.grad
