"""The examples run as a reader would run them, and refuse before they have worked in vain."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import random
import runpy
import subprocess
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from conftest import oracle

import minigrad

EXAMPLES = Path(__file__).parent.parent / "examples"
PICTURES = ["boundary.png", "gradients.png", "loss.png"]
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def matplotlib():
    return oracle("matplotlib")


def example(name, *arguments, before=""):
    """Run an example; `before` is a line of Python that comes first."""
    program = f"""
import runpy, sys
sys.path.insert(0, {str(EXAMPLES)!r})  # as `python examples/name.py` does
{before}
sys.argv = [{name!r}, *{list(map(str, arguments))!r}]
runpy.run_path({str(EXAMPLES / name)!r}, run_name="__main__")
"""
    # Wide and without colours, whatever terminal the tests run in.
    environment = {**os.environ, "COLUMNS": "120", "NO_COLOR": "1", "MPLBACKEND": "agg"}
    environment.pop("FORCE_COLOR", None)
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env={**environment, "PYTHONIOENCODING": "utf-8"},
    )


microgpt = partial(example, "microgpt.py")
black_scholes = partial(example, "black_scholes.py")
rosenbrock = partial(example, "rosenbrock.py")


def words_of(name):
    """Return the functions and classes of an example, without running it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLES))
        return SimpleNamespace(**runpy.run_path(str(EXAMPLES / name)))


def report_of(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout, parse_constant=pytest.fail)


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


# ---- two moons ----------------------------------------------------------------------------------

MOONS = (EXAMPLES / "moons.py").read_text(encoding="utf-8")
SHORT = {"STEPS = 100": "STEPS = 12"}


def moons(**changes):
    """Run the example with some words replaced; returns its variables and what it prints."""
    text, found, said = MOONS, {}, io.StringIO()
    for old, new in changes.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    with contextlib.redirect_stdout(said):
        exec(text, found)
    return SimpleNamespace(**found), said.getvalue()


@pytest.fixture(scope="module")
def short_run():
    return moons(**SHORT)


def test_the_loss_falls_and_the_network_learns(short_run):
    run, said = short_run
    assert len(run.losses) == len(run.accuracies) == 13  # before each step, after the last
    assert run.losses[-1] < run.losses[0] / 2
    assert all(math.isfinite(loss) and loss > 0 for loss in run.losses)
    assert run.accuracies[-1] > 0.8
    assert run.optimizer.steps == 12
    assert f"step  10   loss {run.losses[10]:.4f}   accuracy {run.accuracies[10]:.0%}" in said
    assert f"337 parameters, {minigrad.engine()} engine" in said  # 3 * 16 + 17 * 16 + 17


def test_the_first_losses_are_those_of_the_formula(short_run):
    # Hinge and penalty by NumPy, at the first weights; then one step down its slope.
    run, _ = short_run
    model = minigrad.nn.MLP(2, [16, 16, 1], seed=1337)
    flat = np.array([p.data for p in model.parameters()])

    def total(weights):
        x, at = np.array(run.points), 0
        for size, before in ((16, 2), (16, 16), (1, 16)):
            rows = weights[at : at + size * (before + 1)].reshape(size, before + 1)
            x = x @ rows[:, :-1].T + rows[:, -1]
            x, at = np.maximum(x, 0.0) if size > 1 else x, at + rows.size
        margins = 1.0 - x[:, 0] * np.array(run.labels)
        return np.maximum(margins, 0.0).mean() + 1e-4 * (weights**2).sum()

    assert run.losses[0] == pytest.approx(total(flat), rel=1e-12)
    steps = np.eye(len(flat)) * 1e-7
    slope = np.array([(total(flat + h) - total(flat - h)) / 2e-7 for h in steps])
    assert run.losses[1] == pytest.approx(total(flat - slope), rel=1e-6)  # the rate is 1 at first


def test_compiled_moons_have_the_same_numbers(short_run):
    compiled, _ = moons(**SHORT, **{"def measure": "@minigrad.compile\ndef measure"})
    assert "program" in dir(compiled.measure)
    assert compiled.losses == pytest.approx(short_run[0].losses, rel=1e-9)
    assert compiled.accuracies == short_run[0].accuracies


def test_the_moons_as_a_reader_runs_them():
    # matplotlib is not needed, and the numbers are those of every other run.
    done = example("moons.py", before="sys.modules['matplotlib'] = None")
    assert done.returncode == 0, done.stderr
    assert done.stdout == moons()[1]
    assert "step 100" in done.stdout
    assert "accuracy 100%" in done.stdout.splitlines()[-2]


def test_the_examples_are_as_short_as_they_claim():
    for name, most in (("moons.py", 40), ("microgpt.py", 120)):
        assert len((EXAMPLES / name).read_text(encoding="utf-8").splitlines()) <= most


# ---- a GPT --------------------------------------------------------------------------------------


def gpt_in_numpy(flat, vocabulary, layers, width, heads, block, tokens):
    """The loss of the model with whole matrices and a mask, and so without a memory."""
    numbers = iter(flat)

    def matrix(rows, columns):
        return np.array([next(numbers) for _ in range(rows * columns)]).reshape(rows, columns)

    def norm(x):
        return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5)

    length = min(len(tokens) - 1, block)
    x = matrix(vocabulary, width)[tokens[:length]]
    x = norm(x + matrix(block, width)[:length])
    hidden_from = np.triu(np.full((length, length), -np.inf), 1)  # nobody sees what comes later
    for _ in range(layers):
        query, key, value, mix = (matrix(width, width) for _ in range(4))
        up, down = matrix(4 * width, width), matrix(width, 4 * width)
        seen = norm(x)
        q, k, v = (np.split(seen @ m.T, heads, axis=1) for m in (query, key, value))
        found = []
        for head in range(heads):
            power = np.exp(q[head] @ k[head].T / np.sqrt(width // heads) + hidden_from)
            found.append(power / power.sum(axis=1, keepdims=True) @ v[head])
        x = x + np.hstack(found) @ mix.T
        x = x + np.maximum(norm(x) @ up.T, 0.0) @ down.T
    scores = x @ matrix(vocabulary, width).T
    assert next(numbers, None) is None  # every parameter had its place
    right = scores[np.arange(length), tokens[1 : length + 1]]
    return (np.log(np.exp(scores).sum(axis=1)) - right).mean()


SMALL = {"vocabulary": 5, "layers": 2, "width": 6, "heads": 3, "block": 4}
USUAL = {"vocabulary": 27, "layers": 1, "width": 16, "heads": 4, "block": 16}


@pytest.fixture(scope="module")
def gpt():
    return words_of("microgpt.py")


@pytest.fixture(scope="module")
def eager_gpt():
    return report_of(microgpt("--steps", 120, "--eager", "--json"))


@pytest.mark.parametrize(
    ("shape", "tokens"),
    [
        (SMALL, [4, 0, 4]),
        (SMALL, [4, 1, 3, 3, 0, 2, 1, 4]),  # longer than the block: the rest does not count
        (USUAL, [26, 4, 12, 12, 0, 26]),
    ],
)
def test_the_gpt_is_the_one_of_the_textbook(gpt, shape, tokens):
    model = gpt.GPT(**shape, seed=7)
    parameters = model.parameters()
    rng = np.random.default_rng(0)
    place = np.array([p.data for p in parameters]) + rng.normal(0.0, 0.3, len(parameters))
    minigrad.set_data(parameters, list(place))
    loss = model.loss(tokens)
    assert loss.data == pytest.approx(gpt_in_numpy(place, **shape, tokens=tokens), rel=1e-12)

    loss.backward()
    for _ in range(3):  # the slope in a few directions at once, by central differences
        direction = rng.normal(0.0, 1.0, len(parameters))
        ahead, behind = (
            gpt_in_numpy(place + h * direction, **shape, tokens=tokens) for h in (1e-6, -1e-6)
        )
        slope = float(np.dot([p.grad for p in parameters], direction))
        assert slope == pytest.approx((ahead - behind) / 2e-6, rel=1e-5, abs=1e-7)


def test_the_first_loss_of_the_training(gpt, eager_gpt):
    names = (EXAMPLES / "data" / "names.txt").read_text().split()
    assert len(names) == 32_033
    random.Random(1337).shuffle(names)
    tokens = [26, *(ord(letter) - ord("a") for letter in names[0]), 26]
    flat = [p.data for p in gpt.GPT(**USUAL, seed=1337).parameters()]
    assert len(flat) == eager_gpt["parameters"] == 4_192
    expected = gpt_in_numpy(flat, **USUAL, tokens=tokens)
    assert eager_gpt["losses"][0] == pytest.approx(expected, rel=1e-12)


def test_the_gpt_learns_and_invents_names(eager_gpt):
    losses = eager_gpt["losses"]
    assert len(losses) == eager_gpt["steps"] == 120
    assert losses[0] == pytest.approx(math.log(27), rel=0.1)  # it knows nothing yet
    assert sum(losses[-30:]) < 0.85 * sum(losses[:30])
    assert eager_gpt["mode"] == "eager"
    assert len(eager_gpt["names"]) == 20
    for name in eager_gpt["names"]:
        assert len(name) <= 16
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyz")
    assert any(eager_gpt["names"])


def test_the_gpt_for_people_and_on_other_names(tmp_path):
    (tmp_path / "names.txt").write_text("ñandú\n\n ümit \n", encoding="utf-8")
    options = ("--layers", 2, "--width", 4, "--heads", 2, "--block", 3, "--samples", 7)
    done = microgpt("--eager", "--steps", 3, "--data", tmp_path / "names.txt", *options)
    assert done.returncode == 0, done.stderr
    names = done.stdout.split("\n")[:-1]
    assert len(names) == 7
    assert set("".join(names)) <= set("ñandúümit")
    assert all(len(name) <= 3 for name in names)
    assert "training" in done.stderr
    assert "3 steps in" in done.stderr


def test_what_the_gpt_refuses_before_the_training(tmp_path):
    (tmp_path / "empty.txt").write_text("\n\n")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe")
    for arguments, said in [
        (("--data", tmp_path / "none.txt"), "No such file"),
        (("--data", tmp_path), "name a text file"),
        (("--data", tmp_path / "empty.txt"), "has no name in it"),
        (("--data", tmp_path / "bytes.txt"), "not UTF-8"),
        (("--width", 10), "--width 10 does not divide into --heads 4"),
        (("--steps", 0), "steps"),
    ]:
        done = microgpt("--eager", *arguments)
        assert done.returncode == 2
        assert said in done.stderr
        assert "training" not in done.stderr
        assert "Traceback" not in done.stderr
        assert done.stdout == ""


def test_the_compiled_gpt_has_the_numbers_of_the_eager_one(eager_gpt):
    report = report_of(microgpt("--steps", 120, "--json"))
    assert report["mode"] == "compiled"
    assert report["losses"] == pytest.approx(eager_gpt["losses"], rel=0.0, abs=1e-9)
    assert report["names"] == eager_gpt["names"]


def test_the_compiled_gpt_of_another_shape():
    options = ("--layers", 2, "--width", 6, "--heads", 3, "--block", 5, "--steps", 10, "--json")
    compiled, eager = report_of(microgpt(*options)), report_of(microgpt(*options, "--eager"))
    assert compiled["losses"] == pytest.approx(eager["losses"], rel=0.0, abs=1e-9)
    assert compiled["names"] == eager["names"]


# ---- Black and Scholes --------------------------------------------------------------------------


def greeks_in_mpmath(spot, strike, years, rate, volatility):
    """The derivatives by differences in fifty digits, of the price as an integral."""

    def price(s, k, t, r, v):
        # The discounted mean of what the option pays, over a normal number z.
        drift, spread = (r - v * v / 2) * t, v * mpmath.sqrt(t)
        edge = (mpmath.log(k / s) - drift) / spread  # it pays from here on
        return mpmath.exp(-r * t) * mpmath.quad(
            lambda z: (s * mpmath.exp(drift + spread * z) - k) * mpmath.npdf(z),
            [edge, edge + 2, edge + 5, edge + 10, edge + 20],
        )

    with mpmath.workdps(50):
        x = tuple(map(mpmath.mpf, (spot, strike, years, rate, volatility)))
        h = mpmath.mpf(10) ** -12

        def moved(k, by):
            return price(*(xi + by * (i == k) for i, xi in enumerate(x)))

        here = price(*x)
        slopes = [(moved(k, h) - moved(k, -h)) / (2 * h) for k in range(5)]
        gamma = (moved(0, h) - 2 * here + moved(0, -h)) / h**2
        by_spot, by_strike, by_years, by_rate, by_volatility = slopes
        return [
            float(g) for g in (here, by_spot, by_strike, -by_years, by_rate, by_volatility, gamma)
        ]


@pytest.fixture(scope="module")
def eager_options():
    return report_of(black_scholes("--eager", "--count", 30, "--rows", 30, "--json"))


def test_the_greeks_are_those_of_the_closed_forms(eager_options):
    assert len(eager_options["greeks"]) == eager_options["count"] == 30
    assert eager_options["largest error"] < 1e-11
    for option, found in zip(eager_options["options"], eager_options["greeks"], strict=True):
        spot, strike, years, rate, volatility = option
        root = math.sqrt(years)
        d1 = (math.log(spot / strike) + (rate + volatility**2 / 2) * years) / (volatility * root)
        d2 = d1 - volatility * root
        n1, n2 = ((1.0 + math.erf(d / math.sqrt(2.0))) / 2.0 for d in (d1, d2))
        bell = math.exp(-(d1**2) / 2.0) / math.sqrt(2.0 * math.pi)
        due = strike * math.exp(-rate * years)
        assert found == pytest.approx(
            [
                spot * n1 - due * n2,
                n1,
                -due * n2 / strike,
                -spot * bell * volatility / (2.0 * root) - rate * due * n2,
                due * n2 * years,
                spot * bell * root,
                bell / (spot * volatility * root),
            ],
            rel=1e-10,
            abs=1e-11,
        )


def test_the_greeks_are_derivatives_of_the_expected_payment(eager_options):
    # The formula itself may be wrong in the example and in the test alike; the integral is not.
    for k in range(2):
        expected = greeks_in_mpmath(*eager_options["options"][k])
        assert eager_options["greeks"][k] == pytest.approx(expected, rel=1e-9)


def test_the_options_for_people():
    done = black_scholes("--eager", "--count", 3)
    assert done.returncode == 0, done.stderr
    for word in ("The first 3 options", "volatility", "gamma", "3 options in", "the textbook"):
        assert word in done.stdout
    assert black_scholes("--count", 0).returncode == 2


def test_the_compiled_greeks_are_the_eager_ones(eager_options):
    report = report_of(black_scholes("--count", 30, "--rows", 30, "--json"))
    assert report["mode"] == "compiled"
    assert report["options"] == eager_options["options"]
    for found, expected in zip(report["greeks"], eager_options["greeks"], strict=True):
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-11)


def test_many_compiled_options():
    report = report_of(black_scholes("--count", 20_011, "--rows", 20_011, "--json"))
    assert len(report["greeks"]) == 20_011  # not a multiple of anything
    assert report["largest error"] < 1e-10


# ---- Rosenbrock's valley ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def eager_valley():
    return report_of(rosenbrock("--eager", "--json", "--limit", 1000))


def rosenbrock_in_numpy(x):
    """Value, gradient and Hessian, derived by hand."""
    x = np.asarray(x)
    here, after = x[:-1], x[1:]
    off = after - here**2
    gradient, hessian = np.zeros(len(x)), np.zeros((len(x), len(x)))
    gradient[:-1] += -400.0 * here * off - 2.0 * (1.0 - here)
    gradient[1:] += 200.0 * off
    k = np.arange(len(x) - 1)
    hessian[k, k] += 1200.0 * here**2 - 400.0 * after + 2.0
    hessian[k + 1, k + 1] += 200.0
    hessian[k, k + 1] = hessian[k + 1, k] = -400.0 * here
    return (100.0 * off**2 + (1.0 - here) ** 2).sum(), gradient, hessian


def check_derivatives(f):
    rng = np.random.default_rng(3)
    for size in (2, 7):
        for _ in range(3):
            x, direction = rng.normal(0.0, 1.0, (2, size)).tolist()
            value, gradient, hessian = rosenbrock_in_numpy(x)
            found, slope = f.slope(x)
            assert found == pytest.approx(value, rel=1e-12)
            assert slope == pytest.approx(gradient, rel=1e-11, abs=1e-11)
            assert f.bend(x, direction) == pytest.approx(hessian @ direction, rel=1e-11, abs=1e-10)


def test_slope_and_bend_of_the_valley():
    check_derivatives(words_of("rosenbrock.py").Eager())


def test_slope_and_bend_of_the_valley_compiled():
    check_derivatives(words_of("rosenbrock.py").Compiled())


def check_descent(report):
    newton, plain = report["methods"]["Newton-CG"], report["methods"]["gradient descent"]
    assert newton["x"] == pytest.approx([1.0] * 10, abs=1e-7)
    _, gradient, _ = rosenbrock_in_numpy(newton["x"])
    assert math.hypot(*gradient) < 1e-7
    assert newton["iterations"] < 100 < plain["iterations"] == 1000
    assert newton["products"] > newton["iterations"]
    assert plain["products"] == 0
    for way in (newton, plain):
        assert way["values"][0] == 9.0  # at zero, 1 for each pair of neighbours
        assert all(after < before for before, after in pairwise(way["values"]))  # down, always
        assert way["values"][-1] == pytest.approx(rosenbrock_in_numpy(way["x"])[0], abs=1e-15)
    assert plain["values"][-1] > 1e6 * newton["values"][-1]


def test_newton_finds_the_end_of_the_valley(eager_valley):
    assert eager_valley["mode"] == "eager"
    check_descent(eager_valley)


def test_the_valley_for_people():
    done = rosenbrock("--eager", "--size", 3, "--limit", 50)
    assert done.returncode == 0, done.stderr
    for word in ("in 3 dimensions", "Newton-CG", "gradient descent", "Hessian products"):
        assert word in done.stdout
    assert rosenbrock("--size", 1).returncode == 2


def test_newton_finds_the_end_of_the_valley_compiled(eager_valley):
    report = report_of(rosenbrock("--json", "--limit", 1000))
    assert report["mode"] == "compiled"
    check_descent(report)
    ways = (r["methods"]["Newton-CG"]["values"][:10] for r in (report, eager_valley))
    assert next(ways) == pytest.approx(next(ways), rel=1e-8)
