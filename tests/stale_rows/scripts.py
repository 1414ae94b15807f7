"""Idioms of public scripts: training loops, dropout, batch norm, schedules, checkpoints."""

import copy
import math
import random

import numpy as np

from minigrad import Value, nn, optim

from . import SAME, Notebook, catalogue

row = catalogue("idioms of scripts")

XS, YS = [0.5, -1.0, 2.0], [1.0, -1.0, 1.0]


class Net:
    """Two weights and what people put beside them."""

    def __init__(self):
        self.w, self.b = Value(0.5), Value(0.1)
        self.training, self.p = True, 0.5

    def __call__(self, x):
        return (self.w * x + self.b).tanh()

    def parameters(self):
        return [self.w, self.b]


def loop(net, loss, steps=4, rate=0.1):
    """The lessons' loop, by hand."""
    for _ in range(steps):
        for p in net.parameters():
            p.grad = 0.0
        total = loss()
        total.backward()
        for p in net.parameters():
            p.data -= rate * p.grad
        yield total.data


@row(SAME)
def the_loop_of_the_lessons(compiled):
    net = Net()
    loss = compiled(lambda: sum((net(x) - y) ** 2 for x, y in zip(XS, YS, strict=True)))
    yield from loop(net, loss)
    yield [p.data for p in net.parameters()]


@row(SAME)
def the_data_is_a_global_that_is_extended(compiled):
    net, xs, ys = Net(), list(XS), list(YS)
    loss = compiled(lambda: sum((net(x) - y) ** 2 for x, y in zip(xs, ys, strict=True)))
    yield from loop(net, loss, 2)
    xs.append(3.0)
    ys.append(-1.0)
    yield from loop(net, loss, 2)
    ys[0] = -1.0
    yield from loop(net, loss, 2)


@row(SAME)
def labels_of_numpy_are_flipped_between_epochs(compiled):
    net, xs, ys = Net(), np.array(XS), np.array([1, -1, 1])
    loss = compiled(lambda: sum((1.0 - y * net(x)).relu() for x, y in zip(xs, ys, strict=True)))
    yield from loop(net, loss, 2)
    ys *= -1
    yield from loop(net, loss, 2)
    xs += 1.0
    yield from loop(net, loss, 2)


@row(SAME)
def the_penalty_is_annealed(compiled):
    net, alpha = Net(), 0.1

    @compiled
    def loss():
        return sum((net(x) - y) ** 2 for x, y in zip(XS, YS, strict=True)) + alpha * sum(
            p * p for p in net.parameters()
        )

    for alpha in (0.1, 1.0, 0.0):  # noqa: B007 - read by the loss
        yield from loop(net, loss, 2)


@row(SAME)
def train_and_eval(compiled):
    net = Net()

    @compiled
    def forward(x):
        return net(x) * (net.p if net.training else 1.0)

    yield forward(1.0)
    net.training = False
    yield forward(1.0)
    net.training, net.p = True, 0.1
    yield forward(1.0)


@row()
def dropout_is_drawn_inside(compiled):
    net, rng = Net(), random.Random(5)
    f = compiled(lambda xs: sum(net(x) for x in xs if rng.random() > 0.5) + 0.0 * net.w)
    yield [f(XS) for _ in range(4)]


@row()
def batch_norm_keeps_running_numbers(compiled):
    class BatchNorm:
        def __init__(self):
            self.mean, self.var, self.training = 0.0, 1.0, True

        def __call__(self, xs):
            mean = sum(xs) / len(xs) if self.training else self.mean
            var = sum((x - mean) ** 2 for x in xs) / len(xs) if self.training else self.var
            if self.training:
                self.mean = 0.9 * self.mean + 0.1 * mean.data
                self.var = 0.9 * self.var + 0.1 * var.data
            return [(x - mean) / (var + 1e-5) ** 0.5 for x in xs]

    norm = BatchNorm()
    f = compiled(lambda xs: norm(xs))
    for xs in ([1.0, 2.0], [3.0, 5.0], [3.0, 5.0], [3.0, 5.0]):
        yield f(xs)
        yield norm.mean, norm.var
    norm.training = False
    yield f([1.0, 2.0]), f([3.0, 5.0])


@row(SAME)
def gradients_are_clipped_outside(compiled):
    net = Net()
    loss = compiled(lambda: sum((net(x) * 9.0 - y) ** 2 for x, y in zip(XS, YS, strict=True)))
    optimizer = optim.SGD(net.parameters(), 0.1)
    for largest in (0.1, 1.0, 10.0):
        optimizer.zero_grad()
        loss().backward()
        yield optim.clip_grad_norm(net.parameters(), largest)
        optimizer.step()
        yield [p.data for p in net.parameters()]


@row(SAME)
def a_schedule_read_from_globals(compiled):
    cells = Notebook(compiled)
    cells.run(
        """
        lr, step, warm = 0.1, 0, 3
        w = Value(2.0)
        def rate():
            return lr * min(1.0, (step + 1) / warm)
        @compiled
        def update(x):
            return w - rate() * x
        found = []
        for step in range(5):
            found.append(update(1.0).data)
        lr = 0.01
        found.append(update(1.0).data)
        """
    )
    yield cells.found


@row(SAME)
def a_curriculum_lengthens_the_input(compiled):
    net, limit = Net(), 1
    loss = compiled(lambda xs: sum(net(x) for x in xs[:limit]))
    for limit in (1, 2, 3, 1):  # noqa: B007 - read by the loss
        yield loss(XS)


@row(SAME)
def an_ensemble_grows(compiled):
    nets = [Net()]
    f = compiled(lambda x: sum(net(x) for net in nets) / len(nets))
    yield f(1.0)
    nets.append(Net())
    nets[-1].w.data = -2.0
    yield f(1.0)
    nets.pop(0)
    yield f(1.0)


@row(SAME)
def the_best_weights_are_kept_and_restored(compiled):
    net = Net()
    loss = compiled(lambda: sum((net(x) - y) ** 2 for x, y in zip(XS, YS, strict=True)))
    best = [p.data for p in net.parameters()]
    yield from loop(net, loss, 3)
    for p, data in zip(net.parameters(), best, strict=True):
        p.data = data
    yield loss()


@row(SAME)
def the_net_is_made_anew(compiled):
    cells = Notebook(compiled)
    cells.run(
        """
        net = minigrad.nn.MLP(2, [2, 1], seed=1)
        @compiled
        def f(x): return net([x, 1.0])
        """
    )
    yield cells.f(0.5)
    cells.run("net = minigrad.nn.MLP(2, [2, 1], seed=2)")
    yield cells.f(0.5)
    cells.run("net = minigrad.nn.MLP(2, [3, 1], seed=3)")
    yield cells.f(0.5)


@row(SAME)
def an_average_of_weights_is_swapped_in(compiled):
    net = Net()
    shadow = copy.deepcopy([p.data for p in net.parameters()])
    f = compiled(lambda x: net(x))
    loss = compiled(lambda: sum((net(x) - y) ** 2 for x, y in zip(XS, YS, strict=True)))
    for _ in loop(net, loss, 3):
        shadow = [0.9 * s + 0.1 * p.data for s, p in zip(shadow, net.parameters(), strict=True)]
    kept = [p.data for p in net.parameters()]
    yield f(1.0)
    for p, s in zip(net.parameters(), shadow, strict=True):
        p.data = s
    yield f(1.0)
    for p, k in zip(net.parameters(), kept, strict=True):
        p.data = k
    yield f(1.0)


@row(SAME)
def weights_are_pruned_and_tied(compiled):
    net = nn.MLP(2, [2, 1], seed=1)
    f = compiled(lambda x: net([x, 1.0]))
    yield f(0.5)
    net.layers[0].neurons[0].w[1] = 0.0
    yield f(0.5)
    net.layers[0].neurons[1].w[0] = net.layers[0].neurons[0].w[0]
    yield f(0.5)
    net.layers[0].neurons[0].w[0].data = 3.0
    yield f(0.5)


@row(SAME)
def the_vocabulary_grows(compiled):
    letters = {"a": 0, "b": 1}
    table = [Value(1.0), Value(2.0)]
    f = compiled(lambda text: sum(table[letters[c]] for c in text))
    yield f("ab"), f("ba"), f("bb")
    letters["c"] = 2
    table.append(Value(5.0))
    yield f("abc")
    letters["a"] = 2
    yield f("ab")


@row(SAME)
def a_temperature_of_sampling(compiled):
    logits = [Value(1.0), Value(2.0)]
    temperature = 1.0

    def probabilities():
        powers = [(v / temperature).exp() for v in logits]
        total = sum(powers)
        return [p / total for p in powers]

    f = compiled(probabilities)
    for temperature in (1.0, 0.5, 2.0):  # noqa: B007 - read by the function
        yield f()


@row()
def hooks_collect_activations(compiled):
    class Hooked(Net):
        hooks = []  # noqa: RUF012 - shared, as people write it

        def __call__(self, x):
            y = super().__call__(x)
            for hook in self.hooks:
                hook(y)
            return y

    net, seen = Hooked(), []
    f = compiled(lambda x: net(x))
    yield f(1.0)
    net.hooks.append(lambda y: seen.append(y.data))
    yield f(1.0), f(2.0), f(3.0)
    yield seen


@row(SAME)
def a_config_dict_selects_the_activation(compiled):
    config = {"act": "tanh", "scale": 1.0}
    acts = {"tanh": lambda v: v.tanh(), "relu": lambda v: v.relu()}
    f = compiled(lambda x: acts[config["act"]](x) * config["scale"])
    yield f(-1.0)
    config["act"] = "relu"
    yield f(-1.0)
    acts["relu"] = lambda v: v * 0.1
    yield f(-1.0)
    config.update(scale=7.0, act="tanh")
    yield f(-1.0)


@row(SAME)
def early_stopping_outside(compiled):
    net = Net()
    loss = compiled(lambda: sum((net(x) - y) ** 2 for x, y in zip(XS, YS, strict=True)))
    best, bad = math.inf, 0
    for total in loop(net, loss, 6, rate=0.5):
        bad = 0 if total < best else bad + 1
        best = min(best, total)
        yield total, best, bad


@row(SAME)
def gradient_accumulation(compiled):
    net = Net()
    loss = compiled(lambda x, y: (net(x) - y) ** 2)
    for p in net.parameters():
        p.grad = 0.0
    for x, y in zip(XS, YS, strict=True):
        (loss(x, y) / len(XS)).backward()
        yield [p.grad for p in net.parameters()]


@row()
def a_layer_is_frozen_by_detaching(compiled):
    net, frozen = Net(), set()

    def weight(p):
        return p.detach() if id(p) in frozen else p

    f = compiled(lambda x: weight(net.w) * x + weight(net.b))
    for freeze in (None, net.w, net.b):
        if freeze is not None:
            frozen.add(id(freeze))
        for p in net.parameters():
            p.grad = 0.0
        f(2.0).backward()
        yield [p.grad for p in net.parameters()]
