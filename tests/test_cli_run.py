"""`minigrad run`: other people's scripts, unchanged, with the same output, codes, tracebacks."""

from __future__ import annotations

import subprocess
import sys

import pytest

from minigrad.cli import scripts as cli_scripts
from minigrad.compat import scripts
from minigrad.errors import ExpressionError

# As one would write it after reading microgpt: its Value, a small network, a loop, four digits.
MICROGPT = '''\
"""A script in the manner of microgpt."""
import math, random, sys
random.seed(42)

class Value:
    __slots__ = ('data', 'grad', '_children', '_local_grads')
    def __init__(self, data, children=(), local_grads=()):
        self.data = data
        self.grad = 0
        self._children = children
        self._local_grads = local_grads
    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data + other.data, (self, other), (1, 1))
    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data * other.data, (self, other), (other.data, self.data))
    def __pow__(self, other):
        return Value(self.data**other, (self,), (other * self.data**(other-1),))
    def log(self): return Value(math.log(self.data), (self,), (1/self.data,))
    def exp(self): return Value(math.exp(self.data), (self,), (math.exp(self.data),))
    def relu(self): return Value(max(0, self.data), (self,), (float(self.data > 0),))
    def __neg__(self): return self * -1
    def __radd__(self, other): return self + other
    def __sub__(self, other): return self + (-other)
    def __rsub__(self, other): return other + (-self)
    def __rmul__(self, other): return self * other
    def __truediv__(self, other): return self * other**-1
    def __rtruediv__(self, other): return other * self**-1
    def backward(self):
        topo = []
        visited = set()
        def build_topo(v):
            if v not in visited:
                visited.add(v)
                for child in v._children:
                    build_topo(child)
                topo.append(v)
        build_topo(self)
        self.grad = 1
        for v in reversed(topo):
            for child, local_grad in zip(v._children, v._local_grads):
                child.grad += local_grad * v.grad

W = [[Value(random.gauss(0, 0.3)) for _ in range(8)] for _ in range(8)]
U = [[Value(random.gauss(0, 0.3)) for _ in range(8)] for _ in range(4)]
P = [p for m in (W, U) for row in m for p in row]
def linear(x, w): return [sum(wi * xi for wi, xi in zip(wo, x)) for wo in w]
def softmax(logits):
    m = max(v.data for v in logits)
    es = [(v - m).exp() for v in logits]
    t = sum(es)
    return [e / t for e in es]
for step in range(int(sys.argv[1]) if len(sys.argv) > 1 else 60):
    x = [random.gauss(0, 1) for _ in range(8)]
    target = max(range(4), key=lambda k: x[k])
    h = [v.relu() for v in linear(x, W)]
    loss = -softmax(linear(h, U))[target].log()
    loss.backward()
    for p in P:
        p.data -= 0.05 * p.grad
        p.grad = 0
    if step % 20 == 0:
        print(f"step {step:4d} | loss {loss.data:.4f}")
if __name__ == "__main__":
    print("arguments", sys.argv[1:])
'''

MICROGRAD = """\
import random
from micrograd.engine import Value
from micrograd import nn

random.seed(1337)
model = nn.MLP(3, [4, 4, 1])
xs = [[2.0, 3.0, -1.0], [3.0, -1.0, 0.5], [0.5, 1.0, 1.0], [1.0, 1.0, -1.0]]
ys = [1.0, -1.0, -1.0, 1.0]
for k in range(20):
    loss = sum((model(list(map(Value, x))) - y) ** 2 for x, y in zip(xs, ys))
    model.zero_grad()
    loss.backward()
    for p in model.parameters():
        p.data -= 0.01 * p.grad
    print(k, round(loss.data, 6))
"""


def run(*arguments, python=False, cwd=None, given=None):
    command = [] if python else ["-m", "minigrad", "run"]
    return subprocess.run(
        [sys.executable, *command, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        input=given,
        timeout=120,
    )


def written(folder, text, name="script.py"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.smoke
def test_a_microgpt_script_prints_the_same(tmp_path):
    path = written(tmp_path, MICROGPT)
    ours, theirs = run(path, 100), run(path, 100, python=True)
    assert theirs.returncode == ours.returncode == 0, ours.stderr
    assert len(ours.stdout.splitlines()) == 6
    assert ours.stdout == theirs.stdout
    first = MICROGPT.splitlines().index("class Value:") + 1
    last = first + 38
    assert ours.stderr.startswith(
        f"minigrad run: replaced class Value in lines {first} to {last} by minigrad's Value ("
    )
    assert ours.stderr.count("\n") == 1


@pytest.mark.oracle
def test_a_micrograd_script_prints_the_same(tmp_path, micrograd):
    path = written(tmp_path, MICROGRAD)
    ours, theirs = run(path), run(path, python=True)
    assert theirs.returncode == ours.returncode == 0, ours.stderr
    assert ours.stdout == theirs.stdout
    assert "replaced micrograd, imported in lines 2, 3 by minigrad's Value" in ours.stderr


def test_compare_runs_both(tmp_path):
    path = written(tmp_path, MICROGPT)
    done = run("--compare", path, 30)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "arguments ['30']"
    assert "minigrad run: the same output; " in done.stderr
    wrong = written(tmp_path, MICROGPT.replace("child.grad += ", "child.grad = "))
    done = run("--compare", wrong, 200)
    assert done.returncode == 1
    assert "of the output was 'step" in done.stderr


PLAIN = MICROGPT.partition("W = [[")[0]


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("sys.exit()", 0),
        ("sys.exit(3)", 3),
        ("sys.exit('sorry')", 1),
        ("raise SystemExit(0)", 0),
        ("1 / 0", 1),
        ("import nowhere_to_be_found", 1),
        ("def f():\n    return Value(1.0).cubed()\nf()", 1),
        ("open('missing.txt')", 1),
        ("x = = 1", 1),
        ("", 0),
    ],
)
def test_endings_are_those_of_python(tmp_path, ending, code):
    path = written(tmp_path, f"{PLAIN}\nprint('so far')\n{ending}\n")
    ours, theirs = run(path), run(path, python=True)
    assert ours.returncode == theirs.returncode == code
    assert ours.stdout == theirs.stdout
    said = ours.stderr.splitlines()[1:] if "replaced" in ours.stderr else ours.stderr.splitlines()
    expected = theirs.stderr.splitlines()
    if "cubed" in ending:  # the classes are two, and so are their words
        said, expected = said[:-1], expected[:-1]
    assert said[: len(expected)] == expected


def test_an_interrupt_is_code_130(tmp_path):
    path = written(tmp_path, f"{PLAIN}\nraise KeyboardInterrupt\n")
    done = run(path)
    assert done.returncode == 130
    assert done.stderr.splitlines()[-1] == "KeyboardInterrupt"


def test_a_script_finds_its_folder_its_name_and_its_arguments(tmp_path):
    written(tmp_path, "word = 'beside'\n", "beside.py")
    text = (
        f"{PLAIN}\nimport beside, pickle, __main__\nclass Thing:\n    pass\n"
        "print(beside.word, __name__, __file__, sys.argv, __main__.Thing is Thing)\n"
        "print(type(pickle.loads(pickle.dumps(Thing()))) is Thing, __doc__)\n"
        "print(Value.__module__, sys.stdin.read())\n"
    )
    path = written(tmp_path, text)
    done = run(path, "--help", "-x", given="piped")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"beside __main__ {path} {[str(path), '--help', '-x']} True",
        "True A script in the manner of microgpt.",
        "minigrad.scalar piped",
    ]


def test_what_is_replaced():
    def replaced(text):
        return scripts.prepared(text, "s.py").replaced

    assert replaced("import math\n") == ()
    assert replaced("class Value:\n    def __init__(self): pass\n") == ()  # no engine
    assert replaced("import micrograd.nn as nn\n") == ("micrograd, imported in line 1",)
    assert replaced("def f():\n    import micrograd\n") == ("micrograd, imported in line 2",)
    assert replaced("from .micrograd import x\n") == ()
    assert replaced(PLAIN)[0].startswith("class Value in lines ")
    future = "from __future__ import annotations\n" + PLAIN
    assert len(replaced(future)) == 1


OWN = """\
    def cube(self):
        return Value(self.data**3, (self,), (3 * self.data**2,))
    def __repr__(self):
        return f"<{self.data:.2f}, {self.grad:.2f}>"
"""
ENGINE = PLAIN.replace("    def backward(self):", OWN + "    def backward(self):")
USE = """
a, b = Value(2.0), Value(-3.0)
c = (a * b + a).cube().cube()
c.backward()
print(a, b, [c], f"{c} {c.data}", str(a))
"""


def test_what_only_the_script_has_stays(tmp_path):
    path = written(tmp_path, ENGINE + USE)
    ours, theirs = run(path), run(path, python=True)
    assert theirs.returncode == ours.returncode == 0, ours.stderr
    assert ours.stdout == theirs.stdout
    assert ", all but cube(), __repr__(), by minigrad's Value (" in ours.stderr


@pytest.mark.parametrize("name", ["engine.py", "micrograd/engine.py"])
def test_an_engine_beside_the_script_is_replaced(tmp_path, name):
    (tmp_path / "micrograd").mkdir()
    (tmp_path / "micrograd" / "__init__.py").touch()  # else one that is installed comes before it
    written(tmp_path, ENGINE, name)
    module = name.removesuffix(".py").replace("/", ".")
    path = written(tmp_path, f"from {module} import Value, math\n{USE}print(Value.__module__)\n")
    done = run(path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith(f", all but cube(), __repr__(), of {name} by minigrad's.\n")
    assert done.stdout.endswith("minigrad.scalar\n")
    assert not list(tmp_path.rglob("engine*.pyc"))  # or the next run would find it
    theirs = run(path, python=True)
    assert theirs.stdout.splitlines() == [*done.stdout.splitlines()[:-1], module]


def test_an_engine_beside_that_cannot_be_replaced_runs_as_it_is(tmp_path):
    written(tmp_path, ENGINE.replace("def cube(self):", "def __eq__(self, other):"), "value.py")
    done = run(written(tmp_path, "import value\nprint(value.Value(2.0))\n"))
    assert (done.returncode, done.stdout) == (0, "<2.00, 0.00>\n")
    assert "value.py: class Value in line 5 has __eq__()" in done.stderr
    assert done.stderr.endswith("Now it runs as it is.\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("data, _children=(), requires_grad=False", "__init__(…, requires_grad), and minigrad's"),
        ("data, label='', _children=()", "__init__(…, label), and minigrad's"),
        ("data, _children=(), _op='', name=''", "__init__(…, name), and minigrad's"),
    ],
)
def test_a_class_that_is_made_otherwise_is_refused(text, words):
    with pytest.raises(scripts.ScriptError) as caught:
        scripts.prepared(PLAIN.replace("data, children=(), local_grads=()", text), "s.py")
    assert words in str(caught.value)


def test_a_method_that_reads_what_minigrads_has_not_is_refused():
    text = ENGINE.replace("return Value(self.data**3", "return Value(self.exponent**3")
    with pytest.raises(scripts.ScriptError, match=r"cube\(\), which reads self\.exponent"):
        scripts.prepared(text, "s.py")


def test_mistakes(tmp_path):
    done = run(tmp_path / "none.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no such file; name a Python script, after the options." in done.stderr
    path = written(tmp_path, PLAIN.replace("def relu(self):", "def __eq__(self, other):"))
    done = run(path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "has __eq__(), which is not as minigrad's is; take it out of the class" in done.stderr
    assert "Traceback" not in done.stderr
    done = run(written(tmp_path, "print(1)\n"))
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert "has no class Value and imports none: it ran as it is." in done.stderr


def test_compare_needs_the_micrograd_that_a_script_imports(tmp_path, monkeypatch):
    path = written(tmp_path, MICROGRAD)
    monkeypatch.setattr(cli_scripts, "find_spec", lambda name: None)
    words = r"imports micrograd, which is not installed.*or leave --compare out"
    with pytest.raises(ExpressionError, match=words):
        cli_scripts.run(str(path), [], compare=True)
    compared = []
    monkeypatch.setattr(cli_scripts, "_compare", lambda *given: compared.append(given))
    cli_scripts.run(str(written(tmp_path, PLAIN)), [], compare=True)  # needs none
    (tmp_path / "micrograd").mkdir()  # beside the script, where Python finds it
    cli_scripts.run(str(written(tmp_path, MICROGRAD)), [], compare=True)
    assert len(compared) == 2
