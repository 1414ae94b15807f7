"""The table of mistakes: what people write at first, and the words that tell them what to write.

A row is the call as somebody would type it, the kind of error, and a piece of the message that
names the remedy. They are those of a learner after the lecture, of a teacher, and of people who
come from PyTorch and NumPy. Nothing here may pass for right, and no message is longer than two
sentences.
"""

from __future__ import annotations

import math
import operator
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence, Sized
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import pytest
from conftest import oracle

import minigrad
from minigrad import Value, loss, nn, optim
from minigrad.nn import MLP

LEARNER = [
    ('Value(2.0, "a")', TypeError, "label='a'"),
    ('Value(1, name="a")', TypeError, "its label: Value(data, label="),
    ("Value(1.0, label=3)", TypeError, "a label is a text: label='3'"),
    ("Value(1.0, label=0)", TypeError, "a label is a text: label='0'"),
    ("Value([1.0, 2.0])", TypeError, "[Value(x) for x in xs]"),
    ('Value("3")', TypeError, "float(text)"),
    ("Value(None)", TypeError, "Write 0.0"),
    ("Value(a)", TypeError, "v.detach()"),
    ("Value(2.0, a)", TypeError, "write (v,)"),
    ("a @ b", TypeError, "minigrad.dot(xs, ys)"),
    ("a // 2", TypeError, "divide by /, or take the number, v.data"),
    ("a % b", TypeError, "take the number, v.data"),
    ("MLP(2, [1])(None)", TypeError, "whether a return is missing"),
    ("a * [1, 2]", TypeError, "[v * x for x in xs]"),
    ("[1, 2] * a", TypeError, "[x * v for x in xs]"),
    ("a - (1, 2)", TypeError, "[v - x for x in xs]"),
    ('a ** "2"', TypeError, "float(text)"),
    ('"loss: " + a', TypeError, 'f"{v.data}"'),
    ("a + None", TypeError, "is a return missing"),
    ("a * b.tanh", TypeError, "call it, tanh()"),
    ("a * 1j", TypeError, "x.real and x.imag"),
    ("bool(Value(0.0))", TypeError, "v is not None, or v.data != 0"),
    ("a if a else b", TypeError, "v is not None, or v.data != 0"),
    ("math.exp(a)", TypeError, "v.exp() instead of math.exp(v)"),
    ("grad(a * b, 2.0)", TypeError, "give the Value itself, as in a = Value(2.0)"),
    ('grad(a * b, "a")', TypeError, "give the Value itself"),
    ("grad(f, a)", TypeError, "call it first: grad(f(x), …)"),
    ("hessian(f, [a])", TypeError, "call it first: hessian(f(x), …)"),
    ("jacobian(f, [a])", TypeError, "call it first: jacobian(f(x), …)"),
    ("jvp(a * b, [a], [1.0, 2.0])", ValueError, "one for each input"),
    ('softmax("abc")', TypeError, "give a list of Values or numbers"),
    ("softmax(a)", TypeError, "give a list: ["),
    ("softmax([])", ValueError, "give at least one Value or number"),
    ("softmax([[a, b]])", TypeError, "[softmax(x) for x in xs]"),
    ("softmax([a, None])", TypeError, "softmax: got NoneType"),
    ("tanh([a, b])", TypeError, "[tanh(x) for x in xs]"),
    ("dot([a, b], [1.0])", ValueError, "as many of each"),
    ("take([a, b], 1.0)", TypeError, "int(index)"),
    ("take([a, b], a)", TypeError, "whole number"),
    ("gradcheck(a * b, [a, b])", TypeError, "gradcheck(lambda a, b: a * b, [2.0, 3.0])"),
    ("gradcheck(lambda a: 3.0, [2.0])", TypeError, "Compute with Values"),
    ("draw_dot(2.0)", TypeError, "give it the Value to look at"),
    ("a.explain(2.0)", TypeError, "give it the Value to look at"),
    ("a.explain([a * b])", TypeError, "give it one Value, such as xs[0]"),
    ("draw_dot([a, b])", TypeError, "such as xs[0]; play(xs) shows all of a list xs"),
    ("draw_dot({'a': a})", TypeError, "such as d['name']; play(list(d.values()))"),
    ("draw_dot(model)", TypeError, "give it what comes of a call, model(x)"),
    ("draw_dot(lambda x: x * x)", TypeError, "give it what comes of a call, f(x)"),
    ("minigrad.save(model, 'model.svg')", TypeError, "kept by model.save(path)"),
    ("Value()", TypeError, "Give the number: Value(0.0)"),
    ("Value(2.0, requires_grad=True)", TypeError, "leave requires_grad out"),
    ("2 // a", TypeError, "divide by /"),
    ("2 % a", TypeError, "take the number, v.data"),
    ("a ^ 2", TypeError, "a power is written v**2"),
    ("a & b", TypeError, "compare first"),
    ("a | b", TypeError, "compare first"),
    ("~a", TypeError, "write the opposite comparison"),
    ('a > "x"', TypeError, "float(text)"),
    ("a <= None", TypeError, "is a return missing"),
    ("a < [1, 2]", TypeError, "[v < x for x in xs]"),
    ("1j > a", TypeError, "x.real and x.imag"),
    ("max([a, 'b'])", TypeError, "float(text)"),
    ("a.backwards()", AttributeError, "write v.backward()"),
    ("a.gradient", AttributeError, "the derivative is v.grad"),
    ("a.value", AttributeError, "its number is v.data"),
    ("a.name", AttributeError, "its name is v.label"),
    ("a.square()", AttributeError, "write v**2"),
    ("a.ReLU()", AttributeError, "v.relu()"),
    ("a.draw()", AttributeError, "minigrad.draw_dot(v)"),
    ("softmax(a, b)", TypeError, "it takes one list: softmax([a, b])"),
    ("log_softmax(a, b)", TypeError, "it takes one list: log_softmax([a, b])"),
    ("logsumexp(a, b)", TypeError, "it takes one list: logsumexp([a, b])"),
    ("mean(a, b)", TypeError, "it takes one list: mean([a, b])"),
    ("minigrad.sum(a, b)", TypeError, "it takes one list: sum([a, b])"),
    ("grad(a * b)", TypeError, "there is no 'inputs'; write grad(output, [a, b])"),
    ("grad(a * b, a, b)", TypeError, "too many arguments; write grad(output, [a, b])"),
    ("grad(a * b, a, creategraph=True)", TypeError, "did you mean create_graph?"),
    ("hessian(a * b)", TypeError, "write hessian(output, [a, b])"),
    ("gradcheck(f)", TypeError, "write gradcheck(lambda a, b: a * b, [2.0, 3.0])"),
    ("minigrad.Vaule(2.0)", AttributeError, "did you mean Value?"),
    ("minigrad.MLP(2, [1])", AttributeError, "did you mean minigrad.nn.MLP?"),
    ("nn.MPL(2, [1])", AttributeError, "did you mean MLP?"),
    ("minigrad.drawdot(a)", AttributeError, "did you mean draw_dot?"),
    ("minigrad.train(model)", AttributeError, "write minigrad.fit(model, xs, ys)"),
    ('setattr(a, "data", "3")', TypeError, "float(text)"),
    ('setattr(a, "label", 3)', TypeError, "a label is a text: label='3'"),
    ("Value(1, 2)", TypeError, "a Value holds one: for several, [Value(x) for x in xs]"),
    ("Value(Value)", TypeError, "make one of it first, Value(…)"),
    ("a * Value", TypeError, "make one of it first, Value(…)"),
    ("a * model", TypeError, "It is a model: call it, model(x)"),
    ("model - a", TypeError, "It is a model: call it, model(x)"),
    ("tanh(model)", TypeError, "It is a model: call it, model(x)"),
    ("a @ [1, 2]", TypeError, "minigrad.dot(xs, ys)"),
    ("[1, 2] @ a", TypeError, "minigrad.dot(xs, ys)"),
    ("dot(a, b)", TypeError, "give a list: [v, …]"),
    ("dot([[a]], [[b]])", TypeError, "[dot(x, y) for x in xs]"),
    ("maximum(a, [b])", TypeError, "[maximum(x, b) for x in xs]"),
    ("take(a, 0)", TypeError, "give the list: take(rows, index)"),
    ("where(a, a, b)", TypeError, "compare it: where(v > 0, a, b)"),
    ("where(a > 0, [b], 0)", TypeError, "[where(c, x, b) for x in xs]"),
    ('where("a > 0", a, b)', TypeError, "give one comparison, as in where(v > 0, a, b)"),
    ("where([True, False], a, b)", TypeError, "give one comparison"),
    ("where(None, a, b)", TypeError, "give one comparison"),
    ("gradcheck(product, [2.0])", TypeError, "give one for each of its arguments"),
    ("gradcheck(f, [2.0, 3.0])", TypeError, "give one for each of its arguments"),
    ('draw_dot(a, "LR")', ValueError, "a direction is rankdir='LR'"),
    ("draw_dot(a, labels=True)", TypeError, "there is no such argument; write draw_dot(o"),
    ('to_html("page.html", a)', TypeError, 'write to_html(o, "page.html")'),
    ("draw_dot(a).show()", AttributeError, "minigrad.save(v, path) writes it"),
    ("minigrad.ln(a)", AttributeError, "write minigrad.log(x)"),
    ("minigrad.pow(a, 2)", AttributeError, "write v**2"),
    ("minigrad.max(a, b)", AttributeError, "minigrad.maximum(a, b), of a list max(xs)"),
    ("minigrad.randn(3)", AttributeError, "[Value(random.gauss(0, 1)) for _ in range(n)]"),
    ("minigrad.seed(1)", AttributeError, "random.seed(1), or MLP(…, seed=1)"),
    ('minigrad.load("model.npz")', AttributeError, "write model.load(path)"),
    ("set_data([a, b], [1.0, '2'])", TypeError, "float(text)"),
    ("set_data([a, b], b)", TypeError, "give a list: [v, …]"),
    ("Value(1.0, label=None)", TypeError, "a label is a text: label=''"),
    ("softmax({a, b})", TypeError, "a set has no order, so give a list"),
    ("dot([a, b], {1.0, 2.0})", TypeError, "a set has no order, so give a list"),
    ("minigrad.mean({'a': a, 'b': b})", TypeError, "list(d.values())"),
    ("take([a, b], 2)", IndexError, "there are 2 rows, numbered from 0 on"),
    ("minigrad.to_svg(a)", AttributeError, 'minigrad.save(v, "picture.svg")'),
    ("to_html(a, None)", TypeError, 'write to_html(o, "page.html")'),
    ("minigrad.save(a, 3)", TypeError, 'write save(o, "picture.svg")'),
]
TEACHER = [
    ("MLP(3, 4, 1)", TypeError, "MLP(3, [4, 1])"),
    ("MLP(3, 4)", TypeError, "MLP(3, [4])"),
    ("MLP(3, [4, 4], 1)", TypeError, "MLP(3, [4, 4, 1])"),
    ("MLP(2, [])", ValueError, "at least one layer"),
    ("MLP(2, [3.0, 1])", ValueError, "whole number from 1 on, got 3.0"),
    ("MLP(3, [4, 4, 1])([1.0, 2.0])", ValueError, "takes 3 inputs, got 2; give a list of 3"),
    ("MLP(3, [4, 4, 1])(1.0)", TypeError, "give a list: [1.0"),
    ("MLP(2, [3, 1])([[1, 2], [3, 4]])", TypeError, "[model(point) for point in points]"),
    ('MLP(3, [1], activation="nonsense")', ValueError, "'relu', 'tanh'"),
    ('MLP(3, [1], output="softmax")', ValueError, "output='softmax'"),
    ("MLP(3, [1], activation=tanh)", ValueError, "as a text: 'relu', 'tanh'"),
    ("nn.Neuron(2, 3)", TypeError, "Layer(nin, nout)"),
    ('nn.Neuron(2)([1.0, "2"])', TypeError, "float(text)"),
    ("nn.Layer(2, 3)([1.0])", ValueError, "takes 2 inputs, got 1"),
    ("model(1.0, 2.0)", TypeError, "the inputs are one list: model([1, 2])"),
    ("nn.Neuron(2)(a, b)", TypeError, "the inputs are one list: model([1, 2])"),
    ("nn.Layer(2, 3)([1, 2], [3, 4])", TypeError, "[model(point) for point in points]"),
    ("MLP()", TypeError, "there is no 'nin' and 'nouts'; write MLP(2, [16, 16, 1])"),
    ('MLP(2, [3, 1], activaton="tanh")', TypeError, "did you mean activation?"),
    ("model.train()", AttributeError, "there are no modes, so leave it out"),
    ("model.forward([1.0, 2.0])", AttributeError, "call the model itself: model(x)"),
    ("model.weights", AttributeError, "write model.parameters()"),
    ("model.fit([[1, 2]], [1])", AttributeError, "write minigrad.fit(model, xs, ys)"),
    ("SGD(model.parameters(), learning_rate=0.1)", TypeError, "the learning rate is lr=0.1"),
    ("SGD(lr=0.1)", TypeError, "there is no 'parameters'; write SGD(model.parameters(), lr=0.1)"),
    ("SGD(model.parameters(), momentun=0.9)", TypeError, "did you mean momentum?"),
    ("SGD(model.parameters(), 0.1, 0.9)", TypeError, "too many arguments; write SGD("),
    ("optim.Adam(model.parameters(), beta1=0.9)", TypeError, "write betas=(0.9, 0.999)"),
    ("optim.AdamW(model.parameters(), alpha=0.1)", TypeError, "the learning rate is lr=0.1"),
    ("optim.Adam(model.parameters(), betas=0.9)", TypeError, "give a list: [0.9, …]"),
    ("SGD(model.parameters()).zerograd()", AttributeError, "write optimizer.zero_grad()"),
    ("SGD(model.parameters()).learning_rate", AttributeError, "write optimizer.lr"),
    ("optim.sgd(model.parameters())", AttributeError, "did you mean SGD?"),
    ("loss.MSE([a], [1.0])", AttributeError, "did you mean mse?"),
    ("loss.bce([a], [1.0])", AttributeError, "write binary_cross_entropy"),
    ("fit(model, [[1, 2]], [1], epochs=10)", TypeError, "steps=100 says how many"),
    ("fit(model, [[1, 2]], [1], lr=0.1)", TypeError, "optimizer=optim.SGD(model.parameters()"),
    ("fit([[1, 2]], [1], model)", TypeError, "fit(model, …): got list"),
    ('SGD(model.parameters(), lr="0.1")', TypeError, "it holds one number. Convert the text"),
    ("SGD(model.parameters(), lr=a)", TypeError, "it holds one number. Take its number, v.data"),
    ('SGD(model.parameters(), momentum="0.9")', TypeError, "float(text)"),
    ('optim.Adam(model.parameters(), betas=(0.9, "x"))', TypeError, "float(text)"),
    ('optim.clip_grad_norm(model.parameters(), "1")', TypeError, "float(text)"),
    ("optim.clip_grad_norm(1.0, model.parameters())", TypeError, "Take one element at a time"),
    ("SGD([], lr=0.1)", ValueError, "finds the Values in a Module's attributes"),
    ("SGD([1.0], lr=0.1)", TypeError, "they are Values: pass model.parameters()"),
    ("fit(nn.Module(), [[1, 2]], [1])", TypeError, "give something to call"),
    ("fit(Untrained(), [[1, 2]], [1])", ValueError, "has no parameters; they are the Values in"),
    ('nn.Neuron(2, "tanh")', TypeError, "by its name: activation='tanh'"),
    ('nn.Layer(2, 3, "tanh")', TypeError, "write Layer(2, 3, activation='tanh')"),
    ("SGD(a, lr=0.1)", TypeError, "give a list: [v, …]"),
    ("SGD(model.parameters, lr=0.1)", TypeError, "call it: parameters()"),
    ("SGD(model, lr=0.1)", TypeError, "pass model.parameters()"),
    ("SGD([model.parameters()], lr=0.1)", TypeError, "pass model.parameters()"),
    ("zero_grad(model)", TypeError, "pass model.parameters()"),
    ("zero_grad(model.parameters)", TypeError, "call it: parameters()"),
    ("loss.mse([[a, b]], [1.0])", TypeError, "[x for row in predictions for x in row]"),
    ("loss.mse([[a], [b]], [[1.0], [2.0]])", TypeError, "[x for row in predictions for x in row]"),
    ("loss.mse([a, b], [[1.0], [2.0]])", TypeError, "[x for row in targets for x in row]"),
    ("loss.mse([None, a], [1.0, 2.0])", TypeError, "is a return missing where this None"),
    ('loss.mse([a, "x"], [1.0, 2.0])', TypeError, "float(text)"),
    ('loss.mse([a], ["1"])', TypeError, "float(text)"),
    ("loss.hinge([None], [1])", TypeError, "is a return missing where this None"),
    ("loss.binary_cross_entropy([None], [1])", TypeError, "is a return missing where this None"),
    ("loss.cross_entropy([None], [0])", TypeError, "whether a return is missing"),
    ("loss.mae([a], [1.0])", AttributeError, "minigrad.mean([abs(p - t) for p, t in"),
    ("loss.softmax([a])", AttributeError, "did you mean minigrad.softmax?"),
    ("nn.SGD(model.parameters())", AttributeError, "did you mean minigrad.optim.SGD?"),
    ("optim.cross_entropy([a], 0)", AttributeError, "did you mean minigrad.loss.cross_entropy?"),
    ("loss.mse([a, b], [1.0])", ValueError, "one for each"),
    ("loss.hinge([a], [0])", ValueError, "targets are -1 or +1, got 0"),
    ("loss.binary_cross_entropy([a], [[1]])", TypeError, "[x for row in targets for x in row]"),
    ("loss.cross_entropy([[a, b]], [[0, 1]])", TypeError, "row.index(1)"),
    ("loss.cross_entropy([[a, b]], [1.0])", TypeError, "int(target)"),
    ("loss.cross_entropy([a, b], 1.0)", TypeError, "int(target)"),
    ("loss.cross_entropy([a, b], a)", TypeError, "target.data"),
    ("loss.cross_entropy([[a, b]], 0)", TypeError, "cross_entropy(rows, [0, 2])"),
    ("loss.cross_entropy([a, b], 2)", ValueError, "numbered 0 to 1"),
    ("loss.cross_entropy([], 0)", ValueError, "give one for each class"),
    ('loss.binary_cross_entropy([a], ["yes"])', ValueError, "targets lie in [0, 1], got 'yes'"),
    ("loss.mse({a}, {1.0})", TypeError, "a set has no order, so give a list"),
    ("model({1.0, 2.0})", TypeError, "a set has no order, so give a list"),
    ("model({0: 1.0, 1: 2.0})", TypeError, "list(d.values())"),
    ("SGD({'w': a}, lr=0.1)", TypeError, "list(d.values())"),
    ('fit(model, [[1, 2]], ["1"], loss="mse")', TypeError, "[float(y) for y in ys]"),
]
ELSEWHERE = [
    ("(a * b).backward(retain_graph=True)", TypeError, "graphs are always kept"),
    ("(a * b).backward(create_graph=True)", TypeError, "grad(output, inputs, create_graph=True)"),
    ("(a * b).backward(1.0)", TypeError, "(v * gradient).backward()"),
    ("(a * b).backward(inputs=[a])", TypeError, "grad(output, inputs)"),
    ("a.item()", AttributeError, "its number is v.data"),
    ("a.numpy()", AttributeError, "its number is v.data"),
    ("a.clone()", AttributeError, "a leaf with its number is v.detach()"),
    ("a.requires_grad", AttributeError, "every node has a gradient"),
    ("a.shape", AttributeError, "a Value is one float"),
    ("a.clamp(0, 1)", AttributeError, "write v.clip(low, high)"),
    ("a.max(b)", AttributeError, "v.maximum(x)"),
    ("model.eval()", AttributeError, "minigrad.no_grad()"),
    ("model.state_dict()", AttributeError, "write model.save(path) and model.load(path)"),
    ('model.to("cuda")', AttributeError, "on no device: leave it out"),
    ("minigrad.tensor([1.0])", AttributeError, "a number is a Value(2.0)"),
    ("minigrad.vjp(f, 2.0)", AttributeError, "write grad(output, [a, b])"),
    ("minigrad.jacrev(f)", AttributeError, "write jacobian([y, z], [a, b])"),
    ("minigrad.hvp(f, 2.0, 1.0)", AttributeError, "minigrad.compile(f).hvp((x, y), (1.0, 0.0))"),
    ("minigrad.jit(f)", AttributeError, "write minigrad.compile"),
    ("nn.Linear(2, 3)", AttributeError, 'write Layer(nin, nout, activation="linear")'),
    ("nn.ReLU()", AttributeError, "activations are functions: minigrad.relu(x)"),
    ("nn.MSELoss()", AttributeError, "losses are functions: minigrad.loss.mse("),
    ("compile(a * b)", TypeError, "give a function"),
    ("compile(product).hvp((2.0, 1.0))", TypeError, "f.hvp((x, y), (1.0, 0.0))"),
    ("compile(product).hvp(2.0, 1.0)", TypeError, "f.hvp((x, y), (1.0, 0.0))"),
    ("vmap(f)(2.0)", TypeError, "np.array(…)"),
    ("train_step(f)", TypeError, "write train_step(loss, optimizer)"),
    ("vmap(f, in_axes=0)", TypeError, "arrays are cut along their first axis"),
    ("compile(f, 2.0)", TypeError, "too many arguments; write compile(f)"),
    ("compile(f, fullgraph=True)", TypeError, "there is no such argument; write compile(f)"),
    ("compile(f).backward()", AttributeError, "call it on what it returns: f(x).backward()"),
    ("compile(f).gradient(2.0)", AttributeError, "write f.grad(x)"),
    ("compile(lambda rows, i: rows[i])([a, b], 1.0)", TypeError, "write int(i), or give it an int"),
    ("minigrad.padded([1, 2])", TypeError, "padded([[1, 2], [3]])"),
    ("softmax([a, b], dim=0)", TypeError, "it takes one list; of several, [softmax(x)"),
    ("log_softmax([a, b], axis=-1)", TypeError, "it takes one list; of several, [softmax(x)"),
    ("train_step(f, model)", TypeError, "an optimiser of minigrad.optim"),
]
# Only the slots of an extension type refuse in words of ours and yet do not make a Value look like
# a list to those who ask whether it has `__iter__` or `__len__`.
NATIVE = [
    ("len(a)", TypeError, "a Value is one number"),
    ("list(a)", TypeError, "Give a list: sum([a, b])"),
    ("sum(a)", TypeError, "Give a list: sum([a, b])"),
    ("[*a]", TypeError, "Give a list: sum([a, b])"),
    ("tuple(zip([1], a))", TypeError, "Give a list: sum([a, b])"),
]
NUMPY = [
    ("np.asarray([a, b], dtype=float)", TypeError, "Write v.data for the number"),
    ("Value(np.array([1.0, 2.0]))", TypeError, "[Value(x) for x in xs.ravel()]"),
    ("nn.Neuron(2, activation='linear')(np.ones((2, 2)))", TypeError, "one at a time"),
    ("MLP(2, [3, 1])(np.ones((2, 2)))", TypeError, "[model(point) for point in points]"),
    ("loss.mse(np.ones((2, 1)), np.ones((2, 1)))", TypeError, "[x for row in predictions"),
    ("loss.mse(np.array([[a], [b]]), np.ones(2))", TypeError, "[x for row in predictions"),
    ("loss.cross_entropy([a, b], np.float64(1.0))", TypeError, "int(target)"),
    ("softmax(np.array(2.0))", TypeError, "give a list: [2.0"),
    ("relu(np.ones(3))", TypeError, "[relu(x) for x in xs.ravel()]"),
]
TORCH = [
    ("a * torch.tensor(2.0)", TypeError, "Use x.item()"),
    ("torch.tensor(2.0) * a", TypeError, "Use x.item()"),
    ("a * torch.ones(3)", TypeError, "[v * x for x in xs.ravel()]"),
    ("minigrad.to_torch(product, 1.0)", TypeError, "give one for each of its arguments"),
    ("MLP(2, [3, 1])(torch.ones(2))", TypeError, "Use x.item()"),
    ("MLP(2, [3, 1])(torch.ones(2, 2))", TypeError, "[model(point) for point in points]"),
]


class Untrained(nn.Module):
    """A model whose weights are plain numbers."""

    def __init__(self):
        self.weights = [0.5, -0.5]

    def __call__(self, x):
        return sum(w * xi for w, xi in zip(self.weights, x, strict=True))


def names() -> dict[str, object]:
    """What a session has in which the mistakes are made."""
    known = {name: getattr(minigrad, name) for name in minigrad.__all__}
    known |= {
        "compile": minigrad.compile,
        "vmap": minigrad.vmap,
        "np": pytest.importorskip("numpy"),
    }
    known |= {"train_step": minigrad.train_step, "math": math, "SGD": optim.SGD, "MLP": MLP}
    known |= {"a": Value(2.0, label="a"), "b": Value(3.0, label="b"), "model": MLP(2, [3, 1])}
    known |= {"minigrad": minigrad, "optim": optim, "Untrained": Untrained}
    return known | {"f": lambda x: x * x, "product": operator.mul, "loss": loss, "nn": nn}


def check(call: str, error: type[Exception], words: str, **more: object) -> None:
    with pytest.raises(error, match=re.escape(words)) as caught:
        eval(call, {**names(), **more})
    assert type(caught.value) is error
    said = str(caught.value)
    assert "\n" not in said
    assert len(re.findall(r"[.?!](?= [A-Z]|$)", said)) <= 3, said  # sentences
    assert len(said) < 260, said
    assert said[-1] in ".?", said


@pytest.mark.parametrize(("call", "error", "words"), LEARNER + TEACHER + ELSEWHERE + NUMPY)
def test_a_mistake_is_told_with_its_remedy(call, error, words):
    check(call, error, words)


@pytest.mark.parametrize(("call", "error", "words"), NATIVE)
def test_a_value_has_no_elements(call, error, words):
    if minigrad.engine() == "native":
        check(call, error, words)
    else:
        with pytest.raises(error):
            eval(call, names())


@pytest.mark.oracle
@pytest.mark.parametrize(("call", "error", "words"), TORCH)
def test_tensors_are_told_how_to_become_numbers(call, error, words):
    check(call, error, words, torch=oracle("torch"))


def test_the_table_is_long_enough_and_says_nothing_twice():
    calls = [row[0] for row in LEARNER + TEACHER + ELSEWHERE + NATIVE + NUMPY + TORCH]
    assert len(calls) == len(set(calls)) >= 50


# ---- what must stay right beside it -------------------------------------------------------------


class Length:
    """Somebody's own class that knows how to multiply by a Value."""

    def __rmul__(self, other):
        return ("scaled", other)

    __radd__ = __rmul__


def test_classes_that_know_better_are_asked():
    a = Value(2.0)
    assert a * Length() == ("scaled", a)
    assert a + Length() == ("scaled", a)
    np = pytest.importorskip("numpy")
    assert [v.data for v in a * np.array([1.0, 3.0])] == [2.0, 6.0]
    with pytest.raises(TypeError, match="unsupported operand"):
        a * SimpleNamespace()


def test_a_value_does_not_look_like_a_list():
    a = Value(2.0)
    assert not isinstance(a, (Iterable, Sized, Sequence, Mapping))
    assert not any(hasattr(a, name) for name in ("__iter__", "__len__", "__getitem__", "shape"))
    with pytest.raises(TypeError):
        iter(a)
    np = pytest.importorskip("numpy")
    assert np.array([a, a]).shape == (2,)
    assert not np.iterable(a)


def test_comparisons_with_whatever_compares_itself():
    a = Value(2.0)
    assert a > True
    assert a < Fraction(5, 2)
    assert a >= Decimal(2)
    np = pytest.importorskip("numpy")
    assert (a > np.array([1.0, 3.0])).tolist() == [True, False]
    assert a < np.float32(2.5)


def test_a_value_is_asked_for_by_is_and_by_its_number():
    zero = Value(0.0)
    assert zero is not None
    assert not zero.data
    assert [v.data for v in sorted([Value(2.0), zero])] == [0.0, 2.0]
    assert zero in {zero}
    assert max(zero, Value(1.0)).data == 1.0


def test_a_step_without_a_backward_pass_is_told():
    parameters = [Value(1.0), Value(-2.0)]
    total = parameters[0] * parameters[1]
    with pytest.warns(RuntimeWarning, match=re.escape("Call loss.backward() before it")):
        optim.SGD(parameters).step()
    total.relu().backward()  # it may well be that there is nothing to follow
    optim.SGD(parameters).step()
    assert [p.data for p in parameters] == [1.0, -2.0]


def test_a_step_with_gradients_by_hand_is_not_told():
    parameter = Value(1.0)
    parameter.grad = 3.0
    optim.SGD([parameter], lr=0.5).step()
    assert parameter.data == 1.0 - 0.5 * 3.0


@pytest.mark.parametrize("mode", [minigrad.no_grad, minigrad.strict])
def test_a_block_without_brackets(mode):
    with (
        pytest.raises(
            TypeError, match=re.escape(f"write the brackets too, with {mode.__name__}()")
        ),
        mode,
    ):
        pass


def test_a_name_is_guessed_once():
    """The interpreter guesses from what an error says of its object, when nobody catches it."""
    program = "import minigrad; minigrad.gradchek"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=60,
    )
    assert done.stderr.lower().count("did you mean") == 1
    assert done.stderr.rstrip().endswith("did you mean gradcheck?")


def test_a_scope_without_a_name():
    with pytest.raises(TypeError, match=re.escape('with scope("attention"):')), minigrad.scope:
        pass


def test_the_derivative_of_an_operand_by_its_result():
    a, b, far = Value(2.0), Value(3.0), Value(5.0)
    product = a * b
    with pytest.warns(RuntimeWarning, match="swap the two"):
        assert minigrad.grad(a, product) == 0.0
    assert minigrad.grad(product, far) == 0.0  # what has no part in it moves nothing
    assert minigrad.grad(product, product) == 1.0
    assert minigrad.grad(0 * a, [a, b]) == [0.0, 0.0]


def test_numbers_that_are_refused_change_nothing():
    a, b = Value(1.0), Value(2.0)
    with pytest.raises(TypeError):
        minigrad.set_data([a, b], [3.0, None])
    assert (a.data, b.data) == (1.0, 2.0)


def test_models_that_know_better_are_asked():
    class Scaled(nn.MLP):
        def __rmul__(self, other):
            return ("scaled", other)

        __radd__ = __rmul__

    a = Value(2.0)
    assert a * Scaled(1, [1]) == ("scaled", a)


def test_a_message_does_not_cost_a_gradient():
    a, b = Value(2.0), Value(3.0)
    product = a * b
    with pytest.raises(TypeError):
        product.backward(retain_graph=True)
    assert a.grad == 0.0
    product.backward()
    product.backward()  # graphs are kept, and gradients add up
    assert (a.grad, b.grad) == (6.0, 4.0)


@pytest.mark.parametrize(
    ("mistake", "says"),
    [
        (lambda a: a[0], "not subscriptable"),
        (lambda a: operator.mod("text", a), "not all arguments converted"),
        (lambda a: operator.mod(b"text", a), "not all arguments converted"),
        (lambda a: operator.mod("%(a)s", a), "requires a mapping"),
    ],
)
def test_what_python_itself_refuses_is_refused_by_both_engines(mistake, says):
    with pytest.raises(TypeError, match=says):
        mistake(Value(1.0))
