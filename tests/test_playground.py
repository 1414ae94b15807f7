"""The playground's answers: numbers by hand, by PyTorch and by differences; nothing ever raises."""

from __future__ import annotations

import contextlib
import io
import json
import math
import re

import pytest
from test_lab import edited, fences

from minigrad.check.doctor.catalogue import FAULTS
from minigrad.check.doctor.signatures import patient, source
from minigrad.lab import LABS
from minigrad.playground import answer
from minigrad.playground.gallery import EXAMPLES
from minigrad.playground.words import WORDS

DIAMOND = {"text": "(a*b + c) * (a - c)", "values": {"a": 2, "b": 3, "c": 4}}


def ask(kind, **fields):
    found = answer({"kind": kind, **fields})
    assert "error" not in found, found
    json.dumps(found, allow_nan=False)
    return found


def refused(kind, **fields):
    return answer({"kind": kind, **fields})["error"]


def grads(found):
    return {row["name"]: row["grad"] for row in found["rows"]}


# ---- expressions -------------------------------------------------------------------------------


@pytest.mark.smoke
def test_the_diamond():
    found = ask("expression", **DIAMOND)
    assert found["value"] == -20.0
    assert grads(found) == {"a": 4.0, "b": -4.0, "c": -12.0}  # by hand
    assert found["explain"][0] == "a: -6 (a → a*b → + → *) + 10 (a → a-c → *) = 4"
    player = found["player"]
    assert set(player["pictures"]) == {"LR"}
    assert player["pictures"]["LR"].startswith("<svg")
    assert len(player["play"]["runs"]) > 15  # the faults that can be replayed, as switches
    for row in found["rows"]:
        assert player["play"]["units"][row["unit"]]["terms"]


def test_faults_come_later_to_who_asks_so():
    whole = ask("expression", **DIAMOND)["player"]["play"]["runs"]
    found = ask("expression", **DIAMOND, faults=["overwrite"])["player"]
    sound, broken = found["play"]["runs"]
    assert sound == whole[0]
    assert broken in whole
    assert broken["name"] == "overwrite"
    assert ask("faults", graph=found["graph"])["runs"] == whole[1:]
    ask("expression", text="a*a", faults=[])
    assert "another one has been shown" in refused("faults", graph=found["graph"])


def test_a_box_that_was_wide_stays_so():
    wide = ask("expression", text="a*b", values={"a": -1.2345, "b": 2})["player"]
    columns = [n for unit in wide["play"]["units"] for n in (unit["dataColumns"], unit["columns"])]
    narrow = ask("expression", text="a*b", values={"a": 1, "b": 2})["player"]
    kept = ask("expression", text="a*b", values={"a": 1, "b": 2}, room=columns)["player"]
    field = re.compile(r'(<text class="mg-(?:data|grad)"[^>]*>)[^<]*')
    bare = [field.sub(r"\1", each["pictures"]["LR"]) for each in (wide, narrow, kept)]
    assert bare[0] == bare[2] != bare[1]
    assert ask("expression", text="a*b*c", room=columns)["nodes"] == 5  # of another graph
    for room in (["x"], "12", [float("nan")], [1e300] * 6, [-5] * 6):
        answer({"kind": "expression", "text": "a*b", "room": room})  # never raises


def test_the_way_a_picture_runs():
    pictures = ask("expression", **DIAMOND, rankdir="TB")["player"]["pictures"]
    assert set(pictures) == {"TB"}


def test_names_without_a_number_are_one_and_constants_are_constants():
    found = ask("expression", text="a*pi + e")
    assert [row["name"] for row in found["rows"]] == ["a"]
    assert found["value"] == math.pi + math.e
    assert ask("expression", text="e*2", values={"e": 3})["value"] == 6.0


def test_numbers_may_be_texts():
    assert ask("expression", text="a", values={"a": "1/4"})["rows"][0]["value"] == 0.25
    found = ask("expression", text="a + 1", values={"a": "nan"})
    assert found["value"] == "nan"


def test_a_plot_along_a_variable_and_its_tangent():
    plot = ask("expression", text="x**2", values={"x": 3}, along="x", **{"from": 0, "to": 6})[
        "plot"
    ]
    assert (plot["at"], plot["result"], plot["slope"]) == (3.0, 9.0, 6.0)
    assert plot["points"][0] == [0.0, 0.0]
    assert all(y == x * x for x, y in plot["points"])
    error = refused("expression", text="x", along="x", **{"from": 1, "to": 1})
    assert "larger" in error


def test_large_expressions_are_folded_or_cut():
    found = ask("expression", text=" + ".join(f"x{k}*w{k}" for k in range(60)))
    assert "player" not in found
    assert found["more"] == 60
    assert ("folded" in found) or ("still" in found)


def test_a_folded_graph_can_be_opened():
    found = ask(
        "python",
        text="from minigrad.nn import MLP\nmodel = MLP(3, [6, 6, 1], seed=1)\nmodel([1, 2, 3])\n",
    )
    assert found["folded"]["svg"].startswith("<svg")
    assert "LR" in found["folded"]["levels"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_the_gallery(example):
    values = {"values": example.values} if example.kind == "expression" else {}
    found = ask(example.kind, text=example.text, **values)
    runs = {run["name"]: run for run in found["player"]["play"]["runs"]}
    assert example.fault in runs
    assert not example.fault or runs[example.fault]["rows"]  # the fault shows
    if example.kind == "expression":
        assert ask("check", text=example.text, values=example.values)["ok"]
    titles = [ask("gallery", lang=lang)["examples"] for lang in ("en", "es")]
    assert [x["title"] for x in titles[0]] != [x["title"] for x in titles[1]]


def test_the_check_by_differences():
    found = ask("check", **DIAMOND)
    assert found["ok"]
    assert [(row["name"], row["ours"]) for row in found["rows"]] == [
        ("a", 4.0),
        ("b", -4.0),
        ("c", -12.0),
    ]
    assert all(math.isclose(row["ours"], row["differences"]) for row in found["rows"])


def test_the_check_of_a_large_expression_ends():
    found = ask("check", text="+".join(f"x{k}" for k in range(250)))  # 499 tokens
    assert found["ok"]
    assert [row["differences"] for row in found["rows"]] == pytest.approx([1.0] * 4)
    assert found["more"] == 246
    none = ask("check", text="+".join("a" * 1001))
    assert (none["ok"], none["rows"], none["more"]) == (None, [], 1)


# ---- numbers that surprise ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "values", "fragment"),
    [
        ("log(x)", {"x": -1}, "no such real number"),
        ("sqrt(x)", {"x": -1}, "no such real number"),
        ("a/b", {"a": 1, "b": 0}, "division by zero"),
        ("log(x)", {"x": 0}, "division by zero, or its like"),
        ("x**-1", {"x": 0}, "division by zero"),
        ("exp(x)", {"x": 1000}, "overflow"),
        ("a*b", {"a": 1e200, "b": 1e200}, "overflow"),
        ("a - b", {"a": "inf", "b": "inf"}, "could be anything"),
        ("sqrt(x)", {"x": 0}, "slope by x is inf"),
        ("tanh(x)", {"x": 20}, "saturated"),
        ("relu(x)", {"x": -2}, "no gradient comes through"),
    ],
)
def test_what_surprises_is_explained_where_it_arises(text, values, fragment):
    for lang in WORDS:
        (remark,) = ask("expression", text=text, values=values, lang=lang)["remarks"]
        if lang == "en":
            assert fragment in remark["text"]
        else:
            assert fragment not in remark["text"]


def test_only_the_place_where_it_begins_is_told():
    found = ask("expression", text="y = log(x); z = y*2; z + 1", values={"x": -1})
    assert [remark["unit"] for remark in found["remarks"]] == [1]
    assert ask("expression", **DIAMOND)["remarks"] == []


def test_the_words_are_the_same_in_every_language():
    fields = {
        lang: {key: sorted(re.findall(r"{(\w+)}", text)) for key, text in words.items()}
        for lang, words in WORDS.items()
    }
    assert fields["en"] == fields["es"]


# ---- code --------------------------------------------------------------------------------------

EXPRESSIONS = [
    ("(a*b + c) * (a - c)", {"a": 2.0, "b": 3.0, "c": 4.0}),
    ("n = x*w + b; o = relu(n)", {"x": 2.0, "w": 3.0, "b": 0.5}),
    ("-a**2 / (b - -c)", {"a": 2.0, "b": 3.0, "c": 4.0}),
    ("(-a)**2 - (b - (c - a))", {"a": 2.0, "b": 3.0, "c": 4.0}),
    ("(a/b)/(c/a)", {"a": 2.0, "b": 3.0, "c": 4.0}),
]
WITH_FUNCTIONS = [
    ("a**b**c", {"a": 1.5, "b": 2.0, "c": 0.5}),
    ("2**-a", {"a": 1.5}),
    ("where(a > b, tanh(a), exp(b)) + where(1 > 2, a, b)", {"a": 0.5, "b": 0.25}),
    ("p = softmax(a, b, 2); -ln(p[0]) + max(a, b, 1) * logsumexp(a, b)", {"a": 1.0, "b": 0.5}),
    ("gelu(a) + silu(b) + softplus(a*b) + leaky_relu(-a) + tanh(2)", {"a": 1.0, "b": 0.5}),
    ("result = a*2; clip(result, 0, 10) + atan2(a, 2) + hypot(a, 3) + mean(a, 4)", {"a": 1.0}),
    ("pi*a + e", {"a": 2.0}),
]


def run_code(text):
    """Run an exported program, and read what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, "exported", "exec"), {})
    lines = (line.partition(" = ") for line in printed.getvalue().splitlines())
    return {name: float(number) for name, _, number in lines}


def exported(target, text, values):
    return ask("export", format=target, text=text, values=values)["text"]


def agree(target, text, values):
    printed = run_code(exported(target, text, values))
    ours = ask("expression", text=text, values=values)
    assert next(iter(printed.values())) == pytest.approx(ours["value"], rel=1e-12)
    for name, grad in grads(ours).items():
        assert printed[f"{name}.grad"] == pytest.approx(grad, rel=1e-9, abs=1e-12), name


@pytest.mark.parametrize(("text", "values"), EXPRESSIONS + WITH_FUNCTIONS)
def test_code_for_minigrad_runs(text, values):
    agree("minigrad", text, values)


@pytest.mark.oracle
@pytest.mark.parametrize(("text", "values"), EXPRESSIONS + WITH_FUNCTIONS)
def test_code_for_pytorch_runs_and_agrees(torch, text, values):
    agree("pytorch", text, values)


@pytest.mark.oracle
@pytest.mark.parametrize(("text", "values"), EXPRESSIONS)
def test_code_for_micrograd_runs_and_agrees(micrograd, text, values):
    agree("micrograd", text, values)


def test_micrograd_has_few_functions():
    assert "micrograd has no exp, tanh" in refused(
        "export", format="micrograd", text="tanh(exp(a))"
    )


def test_the_other_exports():
    svg = ask("export", format="svg", **DIAMOND)
    assert svg["type"] == "image/svg+xml"
    assert svg["text"].startswith("<svg")
    page = ask("export", format="html", **DIAMOND, lang="es")["text"]
    assert page.startswith("<!doctype html>")
    assert 'lang="es"' in page
    scene = json.loads(ask("export", format="json", **DIAMOND)["text"])
    assert len(scene["units"]) == 7


# ---- programs ----------------------------------------------------------------------------------


def test_a_program_shows_its_last_line():
    text = "from minigrad import Value\na = Value(3.0)\nb = a + a\nprint('hello')\nb\n"
    found = ask("python", text=text)
    assert (found["title"], found["value"], found["printed"]) == ("b", 6.0, "hello\n")
    assert [(row["name"], row["grad"], row["line"]) for row in found["rows"]] == [
        ("a", 2.0, 2),
        ("b", 1.0, 3),
    ]


def test_a_program_that_has_called_backward_keeps_its_gradients():
    text = "from minigrad import Value\na = Value(3.0)\nb = a*a\nb.backward()\nb.backward()\nb\n"
    assert grads(ask("python", text=text))["a"] == 12.0


def test_a_program_that_fails_tells_the_line():
    found = answer({"kind": "python", "text": "x = 1\n1/0\n"})
    assert found["error"] == "ZeroDivisionError: division by zero"
    assert found["line"] == 2
    assert answer({"kind": "python", "text": "x = (\n"})["line"] == 1
    assert "SystemExit" in refused("python", text="raise SystemExit(3)")
    found = answer({"kind": "python", "text": "2 + 3"})
    assert found["printed"] == "5\n"
    assert "there is no Value to show" in found["error"]


@pytest.mark.parametrize(
    ("text", "line", "hint"),
    [
        ("x = 1\n%matplotlib inline", 2, "command of notebooks; leave it out"),
        ("!pip install numpy", 1, "command of notebooks"),
        (">>> a = 1", 1, "copied with its prompts"),
        ("In [1]: a = 1", 1, "copied with its prompts"),
        (
            "import nowhere_to_be_found.at_all",
            1,
            "Python's own modules and minigrad, and no others",
        ),
        (
            "raise ModuleNotFoundError(name='micrograd.engine')",
            1,
            "before it, and micrograd is here",
        ),
        ("raise ModuleNotFoundError(name='graphviz')", 1, "its graph is shown"),
        ("\nraise EOFError", 2, "Nothing can be typed in"),
    ],
)
def test_what_a_program_from_elsewhere_stumbles_over(text, line, hint):
    found = answer({"kind": "python", "text": text})
    assert (found["line"], hint in found["error"]) == (line, True), found
    assert hint not in refused("python", text=text, lang="es")
    assert "\n" not in refused("python", text="1/0")


def test_a_long_chain_is_let_go_of():
    text = (
        "from minigrad import Value\na = b = Value(1.0)\nfor _ in range(50_000):\n    b = b + a\nb"
    )
    found = ask("python", text=text)
    assert grads(found)["a"] == 50_001.0


# ---- the doctor, the labs ----------------------------------------------------------------------


def test_the_doctor_names_the_fault_and_its_line():
    text = patient(FAULTS["overwrite"])
    found = ask("doctor", text=text)
    assert found["exit_code"] == 1
    first = found["findings"][0]
    assert (first["code"], first["kind"]) == ("overwrite", "fault")
    assert "grad =" in text.splitlines()[first["line"] - 1]
    spanish = ask("doctor", text=text, lang="es")["findings"][0]
    assert spanish["name"] != first["name"]
    assert ask("doctor", text=source("closure"))["exit_code"] == 0
    assert ask("doctor", text="class (")["exit_code"] == 2


def changed(lab):
    """Break a lab's engine as its own text says."""
    return edited(LABS[lab].engine_source(), fences(LABS[lab].text(), "diff")[0])


@pytest.mark.parametrize("lang", ["en", "es"])
@pytest.mark.parametrize("lab", LABS)
def test_a_lab_broken_and_repaired(lab, lang):
    begun = ask("lab", lab=lab, lang=lang)
    assert len(begun["pages"]) == 1
    assert begun["engine"] == LABS[lab].engine_source(lang)
    whole = ask("lab-check", lab=lab, lang=lang, text=begun["engine"])
    assert (whole["state"], whole["engine"], whole["rows"]) == ("started", "intact", [])
    broken = ask("lab-check", lab=lab, lang=lang, text=changed(lab), pages=2)
    assert (broken["state"], broken["engine"]) == ("broken", "broken")
    assert broken["rows"]
    memory = {"state": broken["state"], "seen": broken["seen"], "pages": 3}
    repaired = ask("lab-check", lab=lab, lang=lang, text=begun["engine"], **memory)
    assert repaired["state"] == "repaired"
    told = [each["then"] for each in (whole, broken, repaired)] + begun["pages"]
    assert not any("minigrad lab" in text for text in told)  # there are no commands in a page
    assert len(ask("lab", lab=lab, lang=lang, state="started", pages=3)["pages"]) == 2
    assert len(ask("lab", lab=lab, lang=lang, state="broken", pages=3)["pages"]) == 3
    assert ask("lab-check", lab=lab, text="1/0")["engine"] == "failed"


@pytest.mark.parametrize(("lang", "button"), [("en", "**Check**"), ("es", "**Comprobar**")])
def test_a_page_of_a_lab_speaks_of_the_button(lang, button):
    for lab in LABS:
        text = "".join(ask("lab", lab=lab, lang=lang, state="repaired", pages=3)["pages"])
        assert "minigrad lab" not in text
        assert text.count(button) == 2, lab  # once broken, once repaired


def test_the_labs_are_listed_in_both_languages():
    titles = [[lab["title"] for lab in ask("labs", lang=lang)["labs"]] for lang in ("en", "es")]
    assert len(titles[0]) == len(LABS)
    assert titles[0] != titles[1]


# ---- training ----------------------------------------------------------------------------------


def test_training_learns_xor_and_can_be_left_and_gone_on_with():
    at_once = ask("train", data="xor", steps=20)
    first = ask("train", data="xor", steps=10)
    then = ask("train", data="xor", steps=10, parameters=first["parameters"])
    assert first["losses"] + then["losses"] == at_once["losses"]
    assert then["parameters"] == at_once["parameters"]
    found = at_once
    for _ in range(8):
        found = ask("train", data="xor", steps=50, parameters=found["parameters"])
    assert found["right"] == 4
    assert found["losses"][-1] < 0.05


@pytest.mark.oracle
def test_training_steps_are_those_of_pytorch(torch):
    found = ask("train", data="xor", steps=5)
    model = torch.nn.Sequential(
        torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)
    ).double()
    start = ask("train", data="xor", steps=0)["parameters"]
    with torch.no_grad():
        for k in range(4):
            model[0].weight[k] = torch.tensor(start[3 * k : 3 * k + 2], dtype=torch.float64)
            model[0].bias[k] = start[3 * k + 2]
        model[2].weight[0] = torch.tensor(start[12:16], dtype=torch.float64)
        model[2].bias[0] = start[16]
    optimizer = torch.optim.SGD(model.parameters(), lr=found["rate"])
    points = torch.tensor([point[:2] for point in found["points"]], dtype=torch.float64)
    labels = torch.tensor([[point[2]] for point in found["points"]], dtype=torch.float64)
    losses = []
    for _ in range(5):
        total = ((model(points) - labels) ** 2).mean()
        losses.append(total.item())
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
    assert found["losses"] == pytest.approx(losses, rel=1e-9)


def test_the_boundary_and_a_step_opened():
    found = ask("train", data="moons", steps=1, grid=6)
    assert [len(row) for row in found["grid"]] == [6] * 6
    shown = ask(
        "train-open", data="xor", parameters=ask("train", data="xor")["parameters"], point=2
    )
    assert shown["title"] == "loss"
    assert grads(shown)["layer0.neuron0.w0"] is not None
    assert "parameters: there are 1, and this network has 17" in refused("train", parameters=[1.0])


# ---- exercises ---------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("seed", range(12))
def test_exercises_are_graded_by_what_differences_say(level, seed):
    posed = ask("exercise", level=level, seed=seed)
    again = ask("exercise", level=level, seed=seed)
    assert posed == again
    assert posed["svg"].startswith("<svg")
    assert posed["svg"].count(">grad ?<") == posed["svg"].count(">grad ") > 0  # tells no answer
    by_differences = {
        row["name"]: row["differences"]
        for row in ask("check", text=posed["text"], values=posed["values"])["rows"]
    }
    units = {box["name"]: box["unit"] for box in posed["boxes"]}
    answers = {str(units[name]): f"{x:.8g}" for name, x in by_differences.items()}
    graded = ask("grade", level=level, seed=seed, answers=answers)
    verdicts = {box["unit"]: box["verdict"] for box in graded["boxes"]}
    assert [verdicts[units[name]] for name in by_differences] == ["right"] * len(by_differences)
    assert graded["right"] == len(by_differences)
    assert graded["asked"] == len(posed["boxes"])
    wrong = dict.fromkeys(answers, "1000003")
    assert ask("grade", level=level, seed=seed, answers=wrong)["right"] == 0


def test_levels_two_and_three_share_a_variable():
    for level in (2, 3):
        for seed in range(20):
            posed = ask("exercise", level=level, seed=seed)
            names = re.findall(r"\b[a-d]\b", posed["text"])
            assert len(names) > len(set(names))


def test_wrong_answers_are_told_why():
    """Find exercises in which a famous mistake can be made, and make it."""
    reasons = set()
    for seed in range(30):
        posed = ask("exercise", level=2, seed=seed)
        shown = ask("expression", text=posed["text"], values=posed["values"])
        play = shown["player"]["play"]
        for box in posed["boxes"]:
            terms = play["units"][box["unit"]]["terms"]
            for term in terms if len(terms) > 1 else []:
                answers = {str(box["unit"]): str(next(x for x in term if isinstance(x, str)))}
                graded = ask("grade", level=2, seed=seed, answers=answers)
                (found,) = [each for each in graded["boxes"] if each["given"]]
                reasons.add((found["verdict"], found["reason"].split(":")[0]))
    assert ("wrong", "this is one path of 2") in reasons


def test_a_box_that_is_no_number():
    graded = ask("grade", level=1, seed=1, answers={"0": "two"})
    assert graded["boxes"][0]["verdict"] == "no number"
    assert graded["boxes"][1]["verdict"] == "empty"
    assert ask("grade", level=1, seed=1, answers={"0": "two"}, lang="es")["boxes"][0]["reason"]


def test_a_session_prints_every_expression():
    text = (
        "from minigrad import Value\na = Value(3.0)\n1 + 1\nNone\n(a + a).backward()\na.grad\na\n"
    )
    found = answer({"kind": "session", "text": text})
    assert found == {"printed": "2\n2.0\nValue(data=3.0)\n"}
    found = answer({"kind": "session", "text": "print(1)\nx = 1 / 0\n"})
    assert found == {
        "printed": "1\n",
        "error": "ZeroDivisionError: division by zero",
        "line": 2,
    }
