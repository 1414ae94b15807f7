"""What people hang on Values and read of them: flags, labels, gradients, names."""

import minigrad
from minigrad import Value, optim

from . import SAME, catalogue

row = catalogue("attributes of Values")


@row(SAME)
def a_flag_freezes_a_weight(compiled):
    w = Value(3.0)
    w.frozen = False
    f = compiled(lambda x: x if w.frozen else x * w)
    yield f(2.0)
    w.frozen = True
    yield f(2.0)


@row(SAME)
def a_factor_on_a_weight(compiled):
    w = Value(3.0)
    w.decay = 0.5
    f = compiled(lambda x: x * w * w.decay)
    yield f(2.0)
    w.decay = 0.1
    yield f(2.0)


@row(SAME)
def a_flag_appears_later(compiled):
    w = Value(3.0)
    f = compiled(lambda x: x * w * getattr(w, "gain", 1.0))
    yield f(2.0)
    w.gain = 5.0
    yield f(2.0)


@row(SAME)
def a_label_decides(compiled):
    w = Value(3.0, label="weight")
    f = compiled(lambda x: x * w if w.label == "weight" else x + w)
    yield f(2.0)
    w.label = "bias"
    yield f(2.0)


@row()
def the_label_of_an_argument_decides(compiled):
    f = compiled(lambda v: v * 2.0 if v.label == "twice" else v)
    v = Value(3.0, label="twice")
    yield f(v)
    yield f(Value(3.0, label="once"))
    v.label = ""
    yield f(v)


@row()
def an_attribute_of_an_argument(compiled):
    f = compiled(lambda v: v * v.gain)
    v = Value(3.0)
    v.gain = 2.0
    yield f(v)
    v.gain = 5.0
    yield f(v)


@row()
def a_gradient_is_read(compiled):
    w = Value(3.0)
    w.grad = 2.0
    f = compiled(lambda x: x * w.grad)
    yield f(1.0)
    w.grad = 5.0
    yield f(1.0)


@row()
def the_gradient_of_an_argument_is_read(compiled):
    f = compiled(lambda v: v * 1.0 - 0.1 * v.grad)
    v = Value(3.0)
    v.grad = 2.0
    yield f(v)
    v.grad = 5.0
    yield f(v)


@row()
def sgd_written_into_the_function(compiled):
    w = Value(3.0)
    loss = compiled(lambda x: (w * x - 1.0) ** 2)
    stepped = compiled(lambda rate: w - rate * w.grad)
    for _ in range(3):
        w.grad = 0.0
        loss(1.0).backward()
        w.data = stepped(0.1).data
        yield w


@row(SAME)
def data_is_assigned_between_calls(compiled):
    w = Value(3.0)
    f = compiled(lambda x: x * w)
    yield f(2.0)
    w.data = 5.0
    yield f(2.0)
    w.data += 1
    yield f(2.0)


@row(SAME)
def a_weight_is_replaced(compiled):
    weights = [Value(3.0), Value(4.0)]
    f = compiled(lambda x: x * weights[0] + weights[1])
    yield f(2.0)
    weights[0] = Value(10.0)
    yield f(2.0)
    weights.reverse()
    yield f(2.0)


@row()
def the_operands_of_a_value_are_asked_for(compiled):
    w = Value(3.0) * Value(2.0)
    f = compiled(lambda x: x * len(w._prev))
    yield f(1.0)
    w = Value(6.0)
    yield f(1.0)


@row()
def the_op_of_a_captured_value_decides(compiled):
    w = Value(3.0) * 2.0
    f = compiled(lambda x: x * 2.0 if w._op else x)
    yield f(1.0)
    w = Value(6.0)
    yield f(1.0)


@row(SAME)
def a_subclass_of_value_with_state(compiled):
    class Parameter(Value):
        trainable = True

    w = Parameter(3.0)
    f = compiled(lambda x: x * (w if w.trainable else w.data * 0.0))
    yield f(2.0)
    w.trainable = False
    yield f(2.0)
    Parameter.trainable = False
    w = Parameter(4.0)
    yield f(2.0)


@row(SAME)
def a_subclass_of_value_has_a_method(compiled):
    class Parameter(Value):
        scale = 2.0

        def scaled(self):
            return self * type(self).scale

    w = Parameter(3.0)
    f = compiled(lambda x: x * w.scaled())
    yield f(2.0)
    Parameter.scale = 5.0
    yield f(2.0)


@row()  # only the pure engine lets that happen
def value_itself_gets_a_method(compiled):
    def swish(self):
        return self * self.sigmoid()

    try:
        Value.user_act = swish
        f = compiled(lambda x: x.user_act())
        yield f(2.0)
        Value.user_act = lambda self: self * 100.0
        yield f(2.0)
    except (TypeError, AttributeError) as error:
        yield type(error).__name__
    finally:
        if hasattr(Value, "user_act"):
            del Value.user_act


@row(SAME)
def attributes_survive_a_step_of_an_optimizer(compiled):
    w = Value(3.0)
    w.mask = 1.0
    f = compiled(lambda x: (x * w * w.mask) ** 2)
    optimizer = optim.SGD([w], 0.1)
    for mask in (1.0, 0.5, 0.0):
        w.mask = mask
        optimizer.zero_grad()
        f(1.0).backward()
        optimizer.step()
        yield w, w.grad


@row()
def requires_grad_as_in_another_library(compiled):
    w, b = Value(3.0), Value(1.0)
    b.requires_grad = True

    def loss(x):
        kept = b if b.requires_grad else b.detach()
        return x * w + kept

    f = compiled(loss)
    for flag in (True, False):
        b.requires_grad = flag
        minigrad.zero_grad([w, b])
        f(2.0).backward()
        yield w.grad, b.grad
