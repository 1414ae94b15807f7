"""What people see of every object that minigrad gives them: reprs, and HTML in notebooks."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from conftest import oracle
from pictures import diamond

import minigrad
from minigrad import Value, lab, nn, optim, view
from minigrad.calculus.steps import forward_steps
from minigrad.check.doctor.catalogue import FAULTS
from minigrad.core.display import ROWS, Text, paragraph, picture, preformatted, table

HARD = '</td></table><script>alert("x")</script>\u202e&'


class Net(nn.Module):
    """A module as a user writes it, without a repr."""

    def __init__(self):
        self.first = nn.Layer(2, 3)
        self.table = {"rows": [[Value(1.0, label=HARD)] * 2]}
        self.scale = Value(2.0)

    def parameters(self):
        return [*self.first.parameters(), *self.table["rows"][0], self.scale]

    def __call__(self, x):
        return nn.Module


class Scaled:
    def __init__(self, scale):
        self.scale = Value(scale, label="scale")

    @minigrad.compile
    def loss(self, x):
        return self.scale * x


class Halving(optim.Optimizer):
    """An optimiser as a user writes it."""

    @staticmethod
    def rule(m, x, g, lr):
        return x - lr * g


def everything():
    """Every kind of object that a user meets, by what they wrote for it."""
    root = diamond()
    with minigrad.record() as tape:
        root.backward()
    a = next(v for v in minigrad.trace(root)[0] if v.label == "a")
    model = nn.MLP(2, [3, 1], seed=1)
    optimizer = optim.Adam(model.parameters(), lr=optim.warmup(optim.cosine(0.1, 0.0, 10), 3))

    def loss(x):
        return (model([x, 1.0]) - 0.5) ** 2

    fresh, compiled = minigrad.compile(loss), minigrad.compile(loss)
    compiled(2.0)
    step = minigrad.train_step(loss, optimizer)
    step(1.0)
    batched = minigrad.vmap(lambda x: x * a)
    batched(np.array([1.0, 2.0]))
    method = Scaled(2.0).loss
    method(3.0)
    changed = view.draw_dot(root)
    changed.node("mine")
    report = minigrad.gradcheck(lambda x: x * x, [2.0])
    history = minigrad.fit(nn.MLP(1, [1], seed=0), [[0.0], [1.0]], [-1, 1], steps=2, progress=False)
    return {
        "Value": root, "leaf": a, "draw_dot": view.draw_dot(root), "changed": changed,
        "trace": minigrad.trace(root), "play": minigrad.play(root), "scene": view.scene_of(root),
        "unit": view.scene_of(root).units[0], "tape": tape, "steps": minigrad.steps(root),
        "forward_steps": forward_steps(root), "events": tape.events,
        "no tape": minigrad.record()._result(), "record()": minigrad.record(),
        "no_grad()": minigrad.no_grad(), "strict()": minigrad.strict(),
        "broken": minigrad.broken("overwrite"), "explain": a.explain(root),
        "terms": a.explain(root).terms, "no path": root.explain(a), "MLP": model,
        "Layer": model.layers[0], "Neuron": model.layers[0].neurons[0], "Net": Net(),
        "Module": nn.Module(), "Adam": optimizer, "SGD": optim.SGD(model.parameters(), 0.1),
        "AdamW": optim.AdamW(model.parameters()), "Halving": Halving([a], 0.5),
        "compiled, not called": fresh, "compiled": compiled, "program": compiled.program,
        "gradient program": compiled.gradient_program(), "explain()": compiled.explain(),
        "explain(jax)": compiled.explain("jax"), "cache_info": compiled.cache_info(),
        "grad": compiled.grad(2.0), "method": method, "vmap": batched,
        "batch gradients": batched.grad(np.array([1.0])), "train_step": step, "gradcheck": report,
        "rows": report.rows, "fit": history, "to_text": view.to_text(root),
        "diagnose": minigrad.check.Report("mine.py", problem="no such file"),
        "lab": lab.LABS, "a lab": next(iter(lab.LABS.values())),
        "finding": minigrad.check.Finding("overwrite", "fault", FAULTS["overwrite"]),
    }  # fmt: skip


@pytest.fixture(scope="module")
def things():
    return everything()


class Balanced(HTMLParser):
    """HTML whose elements are closed in their order, and what is in it."""

    def __init__(self, text):
        super().__init__()
        self.open, self.found, self.text = [], set(), []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.found.add(tag)
        if tag != "img":
            self.open.append(tag)
        for name, value in attrs:
            assert name in (
                "style",
                "class",
                "src",
                "alt",
                "colspan",
                "srcdoc",
                "sandbox",
                "width",
                "height",
                "title",
            )
            assert name != "style" or "color" not in value.replace("color-scheme", "")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_no_repr_is_an_address(things):
    for what, thing in things.items():
        text = repr(thing)
        assert text, what
        assert not re.search(r"object at 0x|<function|<bound method|minigrad\.\w+\.\w", text), what


def test_what_their_attributes_are_has_a_repr_too(things):
    looked_at = 0
    for what, thing in things.items():
        for name in dir(thing):
            if name.startswith("_") or (name == "program" and what == "compiled, not called"):
                continue
            found = getattr(thing, name, None)
            if type(found).__module__.startswith("minigrad"):
                looked_at += 1
                assert "object at 0x" not in repr(found), f"{what}: {name}"
    assert looked_at > 10


def test_reprs_fit_on_a_screen(things):
    for what, thing in things.items():
        lines = repr(thing).splitlines()
        assert len(lines) <= 70, what
        assert max(map(len, lines)) <= 700, what  # a list of labs, steps or Values is one line


HTML = (
    *("Value", "leaf", "draw_dot", "play", "tape", "explain", "no path", "MLP", "Layer", "Neuron"),
    *("Net", "Module", "Adam", "SGD", "Halving", "compiled, not called", "compiled", "program"),
    *("gradient program", "grad", "method", "vmap", "train_step", "gradcheck", "fit", "diagnose"),
)


def html_of(thing):
    if hasattr(thing, "_repr_mimebundle_"):
        return thing._repr_mimebundle_()["text/html"]
    return thing._repr_html_()


@pytest.mark.parametrize("what", HTML)
def test_html_is_whole_escaped_and_without_colours(things, what):
    found = Balanced(html_of(things[what]))
    assert found.found <= {"style", "div", "p", "pre", "table", "tr", "th", "td", "img", "iframe"}
    assert "".join(found.text).strip() or "img" in found.found or "iframe" in found.found


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("record()", "record()"),
        ("no_grad()", "no_grad()"),
        ("broken", "broken('overwrite')"),
        ("no tape", "<PassRecord: no backward pass yet>"),
        ("Module", "Module(0 parameters)"),
        ("Net", "Net(12 parameters)"),
        ("SGD", "<SGD of 13 parameters: lr=0.1, momentum=0.0, nesterov=False, weight_decay=0.0; "
                "0 steps taken>"),
        ("Adam", "<Adam of 13 parameters: lr=warmup(cosine(0.1, 0.0, 10), 3), betas=(0.9, 0.999), "
                 "eps=1e-08, weight_decay=0.0; 1 step taken>"),
        ("Halving", "<Halving of 1 parameter: lr=0.5; 0 steps taken>"),
        ("compiled, not called", "<compiled loss: not called yet, backend 'auto'>"),
        ("scene", "<Scene of L: 7 units, 8 arrows>"),
    ],
)  # fmt: skip
def test_what_some_of_them_say(things, what, text):
    assert repr(things[what]) == text


def test_a_compiled_function_says_how_it_has_fared(things):
    found = re.fullmatch(
        r"<compiled loss: 1 program, (\d) calls?, run by \S.*>", repr(things["compiled"])
    )
    assert found
    assert int(found[1]) == things["compiled"].cache_info().calls
    assert repr(things["method"]).endswith("as a method of Scaled>")
    assert re.match(
        r"<train_step of loss with Adam, 1 step taken: 1 program", repr(things["train_step"])
    )
    assert "scalar operations became" in things["compiled"]._repr_html_()


def test_texts_of_several_lines_show_as_such(things):
    for what in ("explain()", "to_text"):
        assert repr(things[what]) == str(things[what])
        assert isinstance(things[what], str)
    assert repr(things["program"]) == str(things["program"])
    assert repr(things["tape"]) == things["tape"].text()


def test_a_long_tape_and_a_long_program_are_cut_and_say_so():
    x = Value(0.5)
    y = x
    for _ in range(300):
        y = y * x
    with minigrad.record() as tape:
        y.backward()
    *lines, last = repr(tape).splitlines()
    assert lines == tape.text().splitlines()[: len(lines)]
    assert last == f"… {601 - len(lines)} more lines: print(tape)"
    assert f"… {601 - ROWS} more rows" in tape._repr_html_()


def test_a_tape_in_html_has_the_start_and_what_was_there(things):
    a = Value(2.0, label="a")
    b = a * 3.0
    b.backward()
    with minigrad.record() as tape:
        b.backward()
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t", row) for row in tape._repr_html_().split("</tr>")]
    assert cells[1] == ["(a*3)", "0", "1", "1", "the start"]
    assert ["a", "0", "3", "3", "(a*3)"] in cells
    assert ["a", "3", "3", "6", "earlier passes"] in cells


def test_a_module_in_html_is_counted_by_parts(things):
    html = things["Net"]._repr_html_()
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t", row) for row in html.split("</tr>")]
    assert ["first", "3 × ReLUNeuron(2)", "9"] in cells
    assert ["table.row0_0", "Value(data=1.0)", "1"] in cells
    assert ["scale", "Value(data=2.0)", "1"] in cells
    assert ["all", "", "12"] in cells


def test_half_made_objects_have_a_repr_too():
    assert repr(object.__new__(Net)) == "Net(…)"
    assert "Adam of 0 parameters" in repr(object.__new__(optim.Adam))


def test_whatever_is_written_is_escaped():
    for made in (
        paragraph(HARD),
        preformatted(HARD),
        table((HARD,), [(HARD,)]),
        picture("<svg/>", HARD),
    ):
        assert "<script" not in made
        assert "\u202e" not in made
        Balanced(made)


def test_a_text_is_a_string():
    text = Text("a\nb")
    assert text == "a\nb"
    assert f"{text}" == "a\nb"
    assert text.upper() == "A\nB"


@pytest.mark.oracle
def test_functions_for_array_libraries():
    oracle("jax")
    weight = Value(2.0)
    made, _ = minigrad.to_jax(lambda x: weight * x * x, 1.0, dtype="float32")
    assert repr(made) == "<<lambda> as a JAX function of 1 parameter and its arguments>"
    assert repr(made.lowered).startswith("<a program for JAX: ")

    def loss(x):
        return (weight * x - 1.0) ** 2

    step = minigrad.train_step(loss, optim.SGD([weight]), backend="jax")
    step(2.0)
    assert repr(step).startswith("<train_step of loss with SGD, 1 step taken: 1 program, ")
    assert repr(step).endswith("run by JAX>")


def test_an_operation_of_many_operands_can_be_read_in_a_cell():
    """As what a compiled loss returns, which has every weight as an operand."""
    ws = [Value(float(k), label=f"w{k}") for k in range(60)]

    @minigrad.compile
    def loss():
        return sum(w * w for w in ws)

    for root in (minigrad.dot(ws, ws[::-1]), loss()):
        svg = root._repr_mimebundle_()["image/svg+xml"]
        width, height = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups())
        assert width <= 900
        assert height <= 540
        assert "w0 … ×60" in svg  # and so many there are
        assert "61 nodes" in svg
        assert len(view.scene_of(root).units) == 61  # draw_dot has all of them


def test_a_few_operands_are_drawn_one_by_one():
    svg = minigrad.mean([Value(float(k), label=f"w{k}") for k in range(6)])._repr_mimebundle_()
    assert "×" not in svg["image/svg+xml"]
