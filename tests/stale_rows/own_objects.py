"""minigrad's own objects read inside a function: optimisers, schedules, modules, modes."""

import minigrad
from minigrad import Value, loss, nn, optim

from . import SAME, catalogue

row = catalogue("minigrad's own objects")


@row(SAME)
def the_count_of_steps(compiled):
    w = Value(1.0)
    optimizer = optim.SGD([w], 0.1)
    f = compiled(lambda x: x * optimizer.steps)
    yield f(1.0)
    optimizer.steps = 5
    yield f(1.0)
    optimizer.step()
    yield f(1.0)


@row(SAME)
def the_learning_rate(compiled):
    optimizer = optim.SGD([Value(1.0)], 0.1)
    f = compiled(lambda x: x * optimizer.lr)
    yield f(1.0)
    optimizer.lr = 0.5
    yield f(1.0)


@row(SAME)
def the_rate_of_a_schedule(compiled):
    optimizer = optim.Adam([Value(1.0)], lr=optim.linear(1.0, 0.0, 10))
    f = compiled(lambda x: x * optimizer.lr)
    for _ in range(3):
        yield f(1.0)
        optimizer.step()


@row(SAME)
def a_schedule_is_called_inside(compiled):
    state = {"step": 0}
    schedule = optim.cosine(1.0, 0.0, 10)
    f = compiled(lambda x: x * schedule(state["step"]))
    for step in (0, 5, 10):
        state["step"] = step
        yield f(1.0)


@row(SAME)
def a_schedule_by_the_step_as_argument(compiled):
    schedule = optim.warmup(optim.exponential(1.0, 0.9), 3)
    f = compiled(lambda x, step: x * schedule(step))
    yield [f(1.0, step) for step in range(6)]


@row(SAME)
def a_schedule_of_ones_own(compiled):
    half_life = 2.0
    optimizer = optim.SGD([Value(1.0)], lambda step: 0.5 ** (step / half_life))
    f = compiled(lambda x: x * optimizer.lr)
    optimizer.steps = 2
    yield f(1.0)
    half_life = 1.0
    yield f(1.0)


@row(SAME)
def momentum_and_decay(compiled):
    optimizer = optim.SGD([Value(1.0)], 0.1, momentum=0.5, weight_decay=0.01)
    f = compiled(lambda x: x * optimizer.weight_decay + optimizer.momentum)
    yield f(1.0)
    optimizer.weight_decay = 0.5
    yield f(1.0)
    optimizer.momentum = 0.9
    yield f(1.0)


@row(SAME)
def the_penalty_over_the_parameters_of_an_optimizer(compiled):
    weights = [Value(1.0), Value(2.0)]
    optimizer = optim.SGD(weights, 0.1)
    f = compiled(lambda x: x + sum(p * p for p in optimizer.parameters))
    yield f(1.0)
    optimizer.parameters.append(Value(3.0))
    yield f(1.0)


@row(SAME)
def the_state_of_an_optimizer(compiled):
    w = Value(1.0)
    optimizer = optim.SGD([w], 0.1, momentum=0.9)
    w.grad = 1.0
    optimizer.step()
    f = compiled(lambda x: x * optimizer.state["velocity"][0])
    yield f(1.0)
    optimizer.step()
    yield f(1.0)
    optimizer.state = {"velocity": [7.0]}
    yield f(1.0)


@row(SAME)
def a_neuron_gets_another_activation(compiled):
    neuron = nn.Neuron(2, activation="tanh")
    f = compiled(lambda x: neuron([x, x]))
    yield f(-3.0)
    neuron.activation = "linear"
    yield f(-3.0)
    neuron.w = [Value(1.0), Value(2.0)]
    yield f(-3.0)


@row(SAME)
def a_layer_of_a_model_is_replaced(compiled):
    model = nn.MLP(2, [3, 1], seed=1)
    f = compiled(lambda x: model([x, 1.0]))
    yield f(0.5)
    model.layers[0] = nn.Layer(2, 3)
    yield f(0.5)


@row(SAME)
def a_layer_is_removed(compiled):
    model = nn.MLP(2, [2, 2, 1], seed=1)
    f = compiled(lambda x: model([x, 1.0]))
    yield f(0.5)
    del model.layers[1]
    yield f(0.5)


@row(SAME)
def a_weight_of_a_model_is_replaced(compiled):
    model = nn.MLP(2, [2, 1], seed=1)
    f = compiled(model)
    yield f([0.5, 1.0])
    model.layers[0].neurons[0].w[0] = Value(10.0)
    yield f([0.5, 1.0])


@row(SAME)
def the_models_call_is_patched(compiled):
    class Model(nn.MLP):
        def __call__(self, x):
            return super().__call__(x) * gain

    gain = 1.0
    model = Model(2, [2, 1], seed=1)
    f = compiled(lambda x: model([x, 1.0]))
    yield f(0.5)
    gain = 3.0
    yield f(0.5)
    Model.__call__ = lambda self, x: x[0] * 100.0
    yield f(0.5)


@row(SAME)
def a_module_of_ones_own_has_a_training_flag(compiled):
    class Net(nn.Module):
        def __init__(self):
            self.w, self.training = Value(2.0), True

        def __call__(self, x):
            return x * self.w * (0.5 if self.training else 1.0)

        def parameters(self):
            return [self.w]

    net = Net()
    f = compiled(lambda x: net(x))
    yield f(1.0)
    net.training = False
    yield f(1.0)


@row(SAME)
def no_grad_around_and_not(compiled):
    w = Value(2.0)
    f = compiled(lambda x: x * w)
    with minigrad.no_grad():
        yield f(1.0)
    y = f(1.0)
    y.backward()
    yield w.grad
    w.data = 5.0
    with minigrad.no_grad():
        yield f(1.0)


@row()
def strict_mode_is_entered_between(compiled):
    f = compiled(lambda x: (x - 1.0).log() * 0.0 + x)
    yield f(2.0)
    with minigrad.strict():
        try:
            yield f(1.0)
        except minigrad.NonFiniteError as error:
            yield type(error).__name__
    yield f(2.0)


@row()
def a_loss_of_ours_is_patched(compiled):
    plain = loss.mse
    try:
        f = compiled(lambda x: loss.mse([x], [1.0]))
        yield f(3.0)
        loss.mse = lambda xs, ys: xs[0] * 100.0
        yield f(3.0)
    finally:
        loss.mse = plain


@row(SAME)
def parameters_are_loaded(compiled):
    model, other = nn.MLP(2, [2, 1], seed=1), nn.MLP(2, [2, 1], seed=2)
    f = compiled(lambda x: model([x, 1.0]))
    yield f(0.5)
    minigrad.set_data(model.parameters(), minigrad.data_of(other.parameters()))
    yield f(0.5)


@row()
def gradients_of_a_captured_graph(compiled):
    a = Value(2.0)
    b = a * 3.0  # made outside, once: a change of a does not reach it, compiled or not
    f = compiled(lambda x: x * b)
    yield f(1.0)
    a.data = 5.0
    yield f(1.0)
    f(1.0).backward()
    yield a.grad, b.grad


@row()
def a_compiled_function_is_called_by_another(compiled):
    k = 2.0
    inner = compiled(lambda x: x * k)
    outer = compiled(lambda x: inner(x) + 1.0)
    yield outer(1.0), inner(1.0)
    k = 9.0
    yield outer(1.0), inner(1.0)
