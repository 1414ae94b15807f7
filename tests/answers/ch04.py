GRADS = """
    o.grad = 1.0
    n.grad = (1 - o.data ** 2) * o.grad
    total.grad = b.grad = n.grad
    x1w1.grad = x2w2.grad = total.grad
    x1.grad, w1.grad = w1.data * x1w1.grad, x1.data * x1w1.grad
    x2.grad, w2.grad = w2.data * x2w2.grad, x2.data * x2w2.grad
"""
BY_HEART = """
    o.grad = 1.0
    n.grad = total.grad = b.grad = x1w1.grad = x2w2.grad = 0.5
    x1.grad, w1.grad, x2.grad, w2.grad = -1.5, 1.0, 0.5, 0.0
"""
SHORT_CUT = """
    o.grad = 1.0
    n.grad = b.grad = 1 - o.data ** 2
    x1.grad, w1.grad = w1.data * n.grad, x1.data * n.grad
    x2.grad, w2.grad = w2.data * n.grad, x2.data * n.grad
"""
RIGHT = [[GRADS]]
MISTAKES = {
    "no_seed": [[GRADS.replace("o.grad = 1.0\n", "")]],
    "tanh_of_n": [[GRADS.replace("o.data ** 2", "n.data ** 2")]],
    "not_squared": [[GRADS.replace("o.data ** 2", "o.data")]],
    "tanh_skipped": [[GRADS.replace("(1 - o.data ** 2) * ", "")]],
    "own_number": [[
        GRADS.replace("= w1.data * x1w1.grad, x1.data", "= x1.data * x1w1.grad, w1.data")
        .replace("= w2.data * x2w2.grad, x2.data", "= x2.data * x2w2.grad, w2.data")
    ]],
    "chain_cut": [[GRADS.replace(" * x1w1.grad", "").replace(" * x2w2.grad", "")]],
    "by_heart": [[BY_HEART]],
    "bias_forgotten": [[GRADS.replace("b.grad = ", "")]],
    "left_out": [[SHORT_CUT]],
    "weight_forgotten": [[GRADS.replace("= w2.data * x2w2.grad,", "= x2w2.grad,")]],
    "otherwise": [[GRADS.replace("1 - o", "1 + o")]],
}  # fmt: skip
