"""value_and_grad, hvp, vmap, train_step: an old rate, an old list of parameters, old labels."""

import numpy as np

from minigrad import Value, nn, optim

from . import SAME, catalogue

row = catalogue("value_and_grad, hvp, vmap, train_step")


def made():
    """Two weights and a loss of them."""
    w, b = Value(0.5), Value(0.1)
    return w, b, lambda x, y: (w * x + b - y) ** 2


@row(SAME)
def value_and_grad_and_a_variable(compiled):
    k = 2.0
    f = compiled(lambda x, y: x * x * y * k)
    for k in (2.0, 5.0, 2.0):  # noqa: B007 - read by the function
        value, grads = f.value_and_grad(3.0, 4.0)
        yield value, grads.args


@row(SAME)
def value_and_grad_by_a_weight(compiled):
    w, _, loss = made()
    f = compiled(loss)
    for data in (0.5, 2.0):
        w.data = data
        value, grads = f.value_and_grad(1.0, 2.0)
        yield value, grads[w], grads.args


@row(SAME)
def value_and_grad_takes_another_branch(compiled):
    f = compiled(lambda x: x * x if x > 0 else x * 3.0)
    for x in (2.0, -2.0, 4.0, 0.0):
        yield f.grad(x).args


@row()
def a_flag_on_a_weight_and_its_gradient(compiled):
    w = Value(2.0)
    w.frozen = False
    f = compiled(lambda x: x * (w.detach() if w.frozen else w) + 0.0 * w)
    for w.frozen in (False, True):
        yield f.value_and_grad(3.0)[1][w]


@row(SAME)
def value_and_grad_in_the_structure_of_the_arguments(compiled):
    scale = [1.0]
    f = compiled(lambda box, n: box["a"] * box["b"][0] * scale[0] * n)
    box = {"a": 2.0, "b": [3.0, 4.0]}
    yield f.grad(box, 2.0).args
    scale[0], box["a"] = 10.0, 5.0
    yield f.grad(box, 3.0).args


@row(SAME)
def hvp_and_a_variable(compiled):
    k = 1.0
    f = compiled(lambda x, y: x * x * y * k)
    for k in (1.0, 3.0):  # noqa: B007 - read by the function
        yield f.hvp((2.0, 0.5), (1.0, 0.0)), f.hvp((2.0, 0.5), (0.0, 1.0))


@row(SAME)
def hvp_takes_another_branch(compiled):
    f = compiled(lambda x: x**3 if x.data > 0 else x**2)
    yield [f.hvp((x,), (1.0,)) for x in (1.0, -1.0, 2.0)]


@row(SAME)
def a_power_reads_a_global_in_hvp(compiled):
    class Config:
        power = 3

    f = compiled(lambda x: x**Config.power)
    yield f.hvp((2.0,), (1.0,))
    Config.power = 4
    yield f.hvp((2.0,), (1.0,))


@row(SAME)
def vmap_and_a_variable(compiled):
    k = 2.0
    f = compiled.vmap(lambda x, y: x * y * k)
    xs = np.array([1.0, 2.0, 3.0])
    yield f(xs, 10.0)
    k = 5.0
    yield f(xs, 10.0)
    xs *= 2.0
    yield f(xs, 1.0)


@row(SAME)
def vmap_and_its_gradients(compiled):
    k = [2.0]
    f = compiled.vmap(lambda x, y: x * x * y * k[0])
    for k[0] in (2.0, 5.0):
        values, grads = f.value_and_grad(np.array([1.0, 2.0]), 3.0)
        yield values, grads[0], grads[1]


@row()
def rows_of_vmap_take_two_ways(compiled):
    f = compiled.vmap(lambda x: x * 2.0 if x.data > 0 else x * 3.0)
    yield f(np.array([1.0, 2.0]))
    yield f(np.array([-1.0, -2.0]))
    yield f(np.array([1.0, -2.0]))


@row()
def rows_of_vmap_index_a_table(compiled):
    table = [10.0, 20.0, 30.0]
    f = compiled.vmap(lambda x, n: x * table[n])
    yield f(np.array([1.0, 2.0]), np.array([1, 1]))
    yield f(np.array([1.0, 2.0]), np.array([0, 2]))


@row()
def vmap_draws_random_numbers(compiled):
    rng = np.random.default_rng(1)
    f = compiled.vmap(lambda x: x * float(rng.random()))
    yield f(np.array([1.0, 1.0, 1.0]))


@row(SAME)
def vmap_of_a_weight(compiled):
    w = Value(2.0)
    f = compiled.vmap(lambda x: x * w)
    yield f(np.array([1.0, 2.0]))
    w.data = 7.0
    yield f(np.array([1.0, 2.0]))


@row(SAME)
def a_step_with_another_learning_rate(compiled):
    w, b, loss = made()
    optimizer = optim.SGD([w, b], 0.1)
    step = compiled.train_step(loss, optimizer)
    for lr in (0.1, 0.1, 0.5, 0.0, 0.01):
        optimizer.lr = lr
        yield step(1.0, 2.0), w, b


@row(SAME)
def a_step_with_a_schedule(compiled):
    w, b, loss = made()
    half_life = 2.0
    optimizer = optim.Adam([w, b], lr=lambda t: 0.5 ** (t / half_life))
    step = compiled.train_step(loss, optimizer)
    yield [step(1.0, 2.0) for _ in range(3)]
    half_life = 0.5
    yield [step(1.0, 2.0) for _ in range(3)]
    optimizer.lr = optim.linear(0.1, 0.0, 8)
    yield [step(1.0, 2.0) for _ in range(3)]
    yield w, b, optimizer.steps


@row(SAME)
def a_step_with_other_momentum_and_betas(compiled):
    w, b, loss = made()
    sgd, adam = optim.SGD([w], 0.1, momentum=0.9), optim.AdamW([b], 0.1)
    steps = compiled.train_step(loss, sgd), compiled.train_step(loss, adam)
    for momentum, betas, decay in ((0.9, (0.9, 0.99), 0.1), (0.5, (0.5, 0.9), 0.0)):
        sgd.momentum, adam.betas, adam.weight_decay = momentum, betas, decay
        for _ in range(2):
            yield steps[0](1.0, 2.0), steps[1](1.0, 2.0), w, b


@row(SAME)
def a_parameter_joins_and_another_leaves(compiled):
    w, b, loss = made()
    optimizer = optim.SGD([w], 0.1)
    step = compiled.train_step(loss, optimizer)
    yield step(1.0, 2.0), w, b
    optimizer.parameters.append(b)
    yield step(1.0, 2.0), w, b
    optimizer.parameters.remove(w)
    yield step(1.0, 2.0), w, b
    optimizer.parameters = [w]
    yield step(1.0, 2.0), w, b


@row(SAME)
def data_is_assigned_between_steps(compiled):
    w, b, loss = made()
    step = compiled.train_step(loss, optim.Adam([w, b], 0.1))
    yield step(1.0, 2.0), step(1.0, 2.0)
    w.data = -3.0
    yield step(1.0, 2.0), w, w.grad
    b.data += 1.0
    yield step(1.0, 2.0), b, b.grad


@row(SAME)
def labels_are_changed_in_place_between_steps(compiled):
    w, b, _ = made()
    labels, points = np.array([1, -1]), [1.0, 2.0]

    def loss():
        return sum((1.0 - y * (w * x + b)).relu() for x, y in zip(points, labels, strict=True))

    step = compiled.train_step(loss, optim.SGD([w, b], 0.1))
    yield step(), step()
    labels[0] = -1
    yield step(), w, b
    points[1] = -5.0
    yield step(), w, b


@row(SAME)
def labels_as_argument_are_changed_in_place(compiled):
    w, b, _ = made()

    def loss(xs, ys):
        return sum((1.0 - y * (w * x + b)).relu() for x, y in zip(xs, ys, strict=True))

    step = compiled.train_step(loss, optim.SGD([w, b], 0.1))
    xs, ys = np.array([1.0, 2.0]), np.array([1, -1])
    yield step(xs, ys)
    ys[0] = -1
    xs[1] = 0.5
    yield step(xs, ys), w, b


@row(SAME)
def the_state_of_the_optimizer_is_loaded(compiled):
    w, b, loss = made()
    optimizer = optim.Adam([w, b], 0.1)
    step = compiled.train_step(loss, optimizer)
    step(1.0, 2.0)
    saved = optimizer.state_dict()
    data = w.data, b.data
    yield [step(1.0, 2.0) for _ in range(3)]
    optimizer.load_state_dict(saved)
    w.data, b.data = data
    yield [step(1.0, 2.0) for _ in range(3)]
    optimizer.state, optimizer.steps = {}, 0
    yield step(1.0, 2.0), w


@row()
def the_loss_reads_the_steps_of_its_optimizer(compiled):
    w, b, _ = made()
    optimizer = optim.SGD([w, b], 0.1)
    step = compiled.train_step(lambda x: (w * x + b) ** 2 * 0.5**optimizer.steps, optimizer)
    yield [step(1.0) for _ in range(4)]
    yield w, b


@row()
def the_loss_reads_the_rate_of_its_optimizer(compiled):
    w, b, _ = made()
    optimizer = optim.SGD([w, b], 0.1)
    step = compiled.train_step(lambda x: (w * x + b) ** 2 + optimizer.lr * w * w, optimizer)
    for optimizer.lr in (0.1, 0.3):
        yield step(1.0), w, b


@row(SAME)
def an_optimizer_of_ones_own(compiled):
    class Sign(optim.SGD):
        size = 0.1

        def step(self):
            for p in self.parameters:
                p.data -= self.size * (1.0 if p.grad > 0 else -1.0)
            self.steps += 1

    w, b, loss = made()
    optimizer = Sign([w, b])
    step = compiled.train_step(loss, optimizer)
    yield step(1.0, 2.0), w, b
    Sign.size = 0.5
    yield step(1.0, 2.0), w, b


@row()
def the_step_of_an_optimizer_is_patched(compiled):
    w, b, loss = made()
    optimizer = optim.SGD([w, b], 0.1)
    step = compiled.train_step(loss, optimizer)
    yield step(1.0, 2.0), w
    plain = optimizer.step

    def clipped():
        optim.clip_grad_value(optimizer.parameters, 0.01)
        plain()

    optimizer.step = clipped
    yield step(1.0, 2.0), w


@row()
def a_parameter_is_replaced_in_the_model_alone(compiled):
    net = nn.MLP(1, [1], seed=1)
    optimizer = optim.SGD(net.parameters(), 0.1)
    step = compiled.train_step(lambda x: net([x]) ** 2, optimizer)
    yield step(1.0)
    net.layers[0].neurons[0].w[0] = Value(3.0)
    yield step(1.0), net.layers[0].neurons[0].w[0]


@row(SAME)
def two_losses_share_one_optimizer(compiled):
    w, b, loss = made()
    optimizer = optim.Adam([w, b], 0.1)
    first = compiled.train_step(loss, optimizer)
    second = compiled.train_step(lambda x: (w - b * x) ** 2, optimizer)
    yield first(1.0, 2.0), second(1.0), first(1.0, 2.0), second(2.0), w, b, optimizer.steps


@row(SAME)
def a_step_and_a_call_in_turns(compiled):
    w, b, loss = made()
    f = compiled(loss)
    step = compiled.train_step(loss, optim.SGD([w, b], 0.1))
    for _ in range(3):
        yield step(1.0, 2.0), f(1.0, 2.0), w.grad


@row(SAME)
def the_loss_is_defined_again(compiled):
    w, b, _ = made()

    def error(x, y):
        return (w * x + b - y) ** 2

    step = compiled.train_step(lambda x, y: error(x, y), optim.SGD([w, b], 0.1))
    yield step(1.0, 2.0), w

    def error(x, y):  # noqa: F811 - as a notebook does
        return abs(w * x + b - y)

    yield step(1.0, 2.0), w


@row(frozenset({"refused"}))
def strictly_compiled_and_changed(compiled):
    k = 2.0
    f = compiled(lambda x: x * k, strict=True)
    yield f(1.0), f(3.0)
    k = 5.0
    yield f(1.0)
