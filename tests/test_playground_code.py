"""Programs that the playground exports: they run whatever names are called, and tell the truth.

What is true comes from mpmath: the expression is made as a tree, which mpmath evaluates on its own;
gradients are differences of that, with forty digits.
"""

from __future__ import annotations

import contextlib
import io
import keyword
import sys

import mpmath as mp
import precise
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from minigrad.expressions import FUNCTIONS
from minigrad.playground import answer
from minigrad.playground.code import TARGETS

STEP = mp.mpf(10) ** -12
# Python's own, those that a program needs, and what they might be renamed to.
HOSTILE = (
    *keyword.kwlist, *keyword.softkwlist, "print", "float", "Value", "minigrad",
    "micrograd", "torch", "functools", "sys", "math", "result", "result_", "part", "lambda_",
    "print_", "Value_", "a", "a_", "__debug__", "__name__", "__builtins__", "__class__", "debug_",
    "data", "grad", "label", "__", "x1",
)  # fmt: skip


class Kink(Exception):  # noqa: N818 - it is no mistake
    """A place where there is no derivative, or next to one."""


def _choose(x, y, greater, other):
    if abs(x - y) < 1e-3:
        raise Kink
    return greater if x > y else other


# A row for each: how it is written, and what mpmath says to it.
SIMPLE = {
    "({0} + {1})": lambda a, b: a + b,
    "({0} - {1})": lambda a, b: a - b,
    "({0} * {1})": lambda a, b: a * b,
    "(-{0})": lambda a: -a,
    "({0} / (2 + {1}*{1}))": lambda a, b: a / (2 + b * b),
    "({0}**2)": lambda a: a**2,
    "((1 + {0}**2)**-1.5)": lambda a: (1 + a * a) ** mp.mpf("-1.5"),
    "relu({0})": lambda a: _choose(a, 0, a, mp.mpf(0)),
}
ONE = "atan cos erf erfc expm1 gelu sigmoid silu sin softplus tanh".split()
FULL = SIMPLE | {
    **{f"{name}({{0}})": precise.DEFINITION[name] for name in ONE},
    "((1.5 + tanh({0}))**sin({1}))": lambda a, b: (mp.mpf("1.5") + mp.tanh(a)) ** mp.sin(b),
    "ln(1 + {0}*{0})": lambda a: mp.log(1 + a * a),
    "leaky_relu({0})": lambda a: _choose(a, 0, a, a / 100),
    "max({0}, {1}, 0)": lambda a, b: _choose(m := _choose(a, b, a, b), 0, m, mp.mpf(0)),
    "min({0} + 1)": lambda a: a + 1,
    "where({0} <= {1}, {1}*2, sin({0}))": lambda a, b: _choose(a, b, mp.sin(a), 2 * b),
    "hypot({0}, 3)": lambda a: mp.sqrt(a * a + 9),
    "softmax({0}, {1}, 0)[1]": lambda a, b: precise.DEFINITION["softmax"](a, b, mp.mpf(0))[1],
    "max(softmax({0}, {1}), 0.4)": lambda a, b: (
        _choose(m := max(precise.DEFINITION["softmax"](a, b)), mp.mpf("0.4"), m, mp.mpf("0.4"))
        if abs(a - b) > 1e-3
        else _choose(a, a, a, a)
    ),
    "sum(log_softmax({0}, {1}), 1)": lambda a, b: 1 + sum(precise.DEFINITION["log_softmax"](a, b)),
    "logsumexp({0}, {1})": precise.DEFINITION["logsumexp"],
    "clip({0}, -2, 1/2)": lambda a: _choose(
        a, -2, _choose(mp.mpf("0.5"), a, a, mp.mpf("0.5")), mp.mpf(-2)
    ),
}


def trees(forms):
    names = st.sampled_from(HOSTILE)
    leaf = names | st.sampled_from((0.5, 2.0, 3.0))

    def larger(inner):
        def filled(form):
            return st.tuples(st.just(form), *[inner] * (2 if "{1}" in form else 1))

        return st.sampled_from(sorted(forms)).flatmap(filled)

    tree = st.recursive(leaf, larger, max_leaves=6)
    return st.lists(st.tuples(names, tree), max_size=2).flatmap(
        lambda named: tree.map(lambda last: [*named, (None, last)])
    )


def written(tree):
    if isinstance(tree, tuple):
        return tree[0].format(*map(written, tree[1:]))
    return str(tree)


def text_of(statements):
    return "\n".join(f"{name} = {written(t)}" if name else written(t) for name, t in statements)


def inputs(statements):
    """Name what is read before it is given, in the order of the text."""
    found, stored = {}, set()

    def look(tree):
        if isinstance(tree, str) and tree not in stored:
            found[tree] = True
        for each in tree[1:] if isinstance(tree, tuple) else ():
            look(each)

    for name, tree in statements:
        look(tree)
        stored.add(name)
    return list(found)


def truth(forms, statements, values):
    """Evaluate it in mpmath."""

    def of(tree, known):
        if isinstance(tree, tuple):
            return forms[tree[0]](*[of(each, known) for each in tree[1:]])
        return known[tree] if isinstance(tree, str) else mp.mpf(tree)

    known = dict(values)
    for name, tree in statements:
        result = known[name] = of(tree, known)
    return result


def run_code(text):
    """Run an exported program as a file of its own is run, and read what it prints."""
    printed = io.StringIO()
    limit = sys.getrecursionlimit()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(text, "exported", "exec"), {"__name__": "__main__"})
    finally:
        sys.setrecursionlimit(limit)
    lines = (line.partition(" = ") for line in printed.getvalue().splitlines())
    return [(name, float(number)) for name, _, number in lines]


def holds(target, forms, statements, numbers):
    text = text_of(statements)
    names = inputs(statements)
    values = dict(zip(names, numbers, strict=False))
    found = answer({"kind": "export", "format": target, "text": text, "values": values})
    assume("there is no variable" not in found.get("error", ""))
    code = found["text"]
    printed = run_code(code)
    with mp.workdps(40):
        at = {name: mp.mpf(x) for name, x in values.items()}
        try:
            result = truth(forms, statements, at)
            slopes = [
                (truth(forms, statements, at | {name: at[name] + STEP})
                 - truth(forms, statements, at | {name: at[name] - STEP})) / (2 * STEP)
                for name in names
            ]  # fmt: skip
        except Kink:
            assume(False)
        # Numbers that come from larger ones lose as many digits as those have more.
        assume(max(abs(result), *map(abs, slopes)) < 1e6)
    assert [name for name, _ in printed][1:] == [f"{name}.grad" for name in names]
    got = [number for _, number in printed]
    assert got == pytest.approx([float(x) for x in (result, *slopes)], rel=1e-6, abs=1e-8), code


NUMBERS = st.permutations([0.7, -1.3, 1.9, 0.31, -0.57, 2.3, -0.9, 1.1, 0.45, -1.7, 1.45, 0.83])


@settings(max_examples=40)
@given(trees(FULL), NUMBERS)
def test_for_minigrad(statements, numbers):
    holds("minigrad", FULL, statements, numbers)


@pytest.mark.oracle
@settings(max_examples=40)
@given(trees(FULL), NUMBERS)
def test_for_pytorch(torch, statements, numbers):
    holds("pytorch", FULL, statements, numbers)


@pytest.mark.oracle
@settings(max_examples=40)
@given(trees(SIMPLE), NUMBERS)
def test_for_micrograd(micrograd, statements, numbers):
    holds("micrograd", SIMPLE, statements, numbers)


def exported(target, text, **more):
    return answer({"kind": "export", "format": target, "text": text, **more})


def test_the_program_says_what_it_renamed():
    assert exported("minigrad", "lambda*a", values={"a": 2})["text"].splitlines()[3:6] == [
        "# Other names here, because Python, this program or an input has them: lambda → lambda_",
        'lambda_ = Value(1.0, label="lambda")',
        'a = Value(2.0, label="a")',
    ]
    assert "lambda → lambda_" in exported("pytorch", "lambda*a", lang="es")["text"]
    assert "#" not in exported("pytorch", "Value*minigrad")["text"]  # nothing of PyTorch's
    assert "a → a_\n" in exported("minigrad", "a = a*2; a*b")["text"]


@pytest.mark.parametrize("name", HOSTILE)
def test_each_name_in_each_library(name):
    """By hand: x*x + x at 3 is 12, with the slope 7. Whoever is installed runs it."""
    for target in TARGETS:
        code = exported(target, f"{name}*{name} + {name}", values={name: 3})["text"]
        compile(code, target, "exec")
        if target == "minigrad":
            assert run_code(code)[1] == (f"{name}.grad", 7.0)


def test_what_python_refuses_of_plain_numbers():
    """In expressions 1/0 is inf and the root of a negative number nan, as IEEE has it."""
    for text, said in (
        ("a*(1/0)", "inf"), ("a - 0**-1", "inf"), ("a + 10**400", "inf"), ("a*(-8)**(1/3)", "nan"),
        ("z = 0; a*(1/z)", "inf"),
    ):  # fmt: skip
        code = exported("minigrad", text)["text"]
        assert f'float("{said}")' in code
        assert str(run_code(code)[0][1]).endswith(said)


@pytest.mark.oracle
@pytest.mark.parametrize("text", ["max(x, y, z)", "min(x, y, z, 1)", "clip(x*2, y, z/2)"])
def test_ties_and_bounds_the_wrong_way_round_are_the_same_in_pytorch(torch, text):
    """Numbers that nobody gave are all 1, so that a tie is what one sees first."""
    mine, theirs = (run_code(exported(target, text)["text"]) for target in ("minigrad", "pytorch"))
    assert mine == theirs


def test_what_micrograd_cannot_do_is_told():
    assert "micrograd has no a**b" in exported("micrograd", "a**b")["error"]
    assert "micrograd has no a**b" in exported("micrograd", "2**a")["error"]
    for text in ("a/0", "1/(a - 1)", "(a - 1)**0.5", "(-a)**0.5", "(a*100)**200", "(a - 1)**0"):
        assert "Python's own numbers" in exported("micrograd", text)["error"], text
    assert "números de Python" in exported("micrograd", "a/0", lang="es")["error"]
    assert "error" not in exported("micrograd", "a/1e-200 + (a - 1)**1")


def test_what_is_no_graph_is_no_program():
    assert "there is no variable" in exported("pytorch", "a = 2; a*3")["error"]
    assert "here is room for one number" in exported("minigrad", "softmax(a, b)")["error"]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("-" * 900 + "a", 1),
        ("relu(" * 900 + "a" + ")" * 900, 1),
        ("+".join("a" * 900), 900),
        ("(a+" * 900 + "a" + ")" * 900, 901),
        ("1-(" * 899 + "1-a" + ")" * 899, 1),
    ],
    ids=["minus", "call", "plus", "right", "left"],
)
def test_deeper_than_python_reads(text, result):
    """By hand, at a = 1: all of them are that many times a."""
    assert [x for _, x in run_code(exported("minigrad", text)["text"])] == [result, result]


@pytest.mark.oracle
@pytest.mark.parametrize("text", ["(a+" * 900 + "a" + ")" * 900, "1-(" * 900 + "a" + ")" * 900])
def test_deeper_than_micrograd_goes(micrograd, text):
    code = exported("micrograd", text)["text"]
    assert run_code(code)[1][1] == (901 if "+" in text else 1)


@pytest.mark.oracle
def test_an_input_that_the_result_does_not_reach(torch):
    code = exported("pytorch", "n = a*b; where(c > 0, d, 2)")["text"]
    assert [x for _, x in run_code(code)] == [1.0, 0.0, 0.0, 0.0, 1.0]
    assert "the result does not depend on c" in code


@pytest.mark.oracle
@pytest.mark.parametrize("name", FUNCTIONS)
def test_pytorch_has_every_function(torch, name):
    arguments = ["x > 0.2", "x", "0.3"][: FUNCTIONS[name] or 3]
    if name != "where":
        arguments[0] = "x*0.9"
    if name == "clip":
        arguments[1:] = "0.1", "0.8"
    text = f"{name}({', '.join(arguments)})" + "[0]" * name.endswith("softmax")
    code = exported("pytorch", text, values={"x": 0.5})["text"]
    check = answer({"kind": "check", "text": text, "values": {"x": 0.5}})
    assert run_code(code)[1][1] == pytest.approx(check["rows"][0]["differences"], rel=1e-6)
