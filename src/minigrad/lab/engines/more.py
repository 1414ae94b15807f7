"""Two more operations: the ninth chapter's own part.

1 / (1 + exp(-x)) is (1 + tanh(x/2)) / 2, which does not overflow where x is far below 0.
"""


class Value:
    """The rest is as it was: `chapters.py` puts it around these methods."""

    def log(self):
        out = Value(math.log(self.data), (self,), "log")  # noqa: F821

        def _backward():
            self.grad += out.grad / self.data

        out._backward = _backward
        return out

    def sigmoid(self):
        s = (1 + math.tanh(self.data / 2)) / 2  # noqa: F821
        out = Value(s, (self,), "sigmoid")

        def _backward():
            self.grad += s * (1 - s) * out.grad

        out._backward = _backward
        return out
