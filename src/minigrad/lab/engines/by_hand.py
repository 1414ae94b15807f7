"""The neuron's gradients, worked out by hand: the fourth chapter's own part."""


def fill_in(x1, w1, x2, w2, b, x1w1, x2w2, total, n, o):
    """Give each Value of the neuron its grad, from the result backwards."""
    o.grad = 1.0
    n.grad = (1 - o.data**2) * o.grad
    total.grad = n.grad
    b.grad = n.grad
    x1w1.grad = total.grad
    x2w2.grad = total.grad
    x1.grad = w1.data * x1w1.grad
    w1.grad = x1.data * x1w1.grad
    x2.grad = w2.data * x2w2.grad
    w2.grad = x2.data * x2w2.grad
