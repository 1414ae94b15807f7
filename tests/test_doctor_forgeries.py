"""The doctor's verdict: nothing that a file does in the sandbox passes a broken engine.

Each forgery stands beside an engine with the famous fault. The verdict must be that fault, another
one, or that it could not be examined. None of them is a right engine in disguise, which would pass.
"""

from __future__ import annotations

import itertools
import json
import secrets

import pytest
from sound_engines import HEALTHY, source

import minigrad
from minigrad.check import diagnose
from minigrad.check.doctor.answers import examine_here, examine_stranger, understand
from minigrad.check.doctor.catalogue import CATALOGUE, FAULTS
from minigrad.check.doctor.evidence import Evidence
from minigrad.check.doctor.findings import report as _report
from minigrad.check.doctor.lines import marks_of
from minigrad.check.doctor.probes import FIRST, PROBES, drawn, expected
from minigrad.check.doctor.recognise import recognise
from minigrad.check.doctor.signatures import (
    drawn_signatures,
    patient,
    run_patients,
    signature,
    signatures,
)

BROKEN = source("closure").replace(".grad += ", ".grad = ")


def examined(tmp_path, text, seed=None):
    path = tmp_path / "engine.py"
    path.write_text(text, encoding="utf-8")
    return _report("engine.py", examine_stranger(str(path), seed=seed))


# ---- forgeries ----------------------------------------------------------------------------------

# All that anybody can know before: the probes' own numbers, and what is right for them.
KNOWN = {
    json.dumps([p.script.leaves, p.script.lines, p.script.root]): expected(p.script) for p in PROBES
}
OUTCOMES = {
    p.name: {"missing": True}
    if p.kind not in FIRST
    else dict(zip(("data", "grad"), expected(p.script), strict=True))
    for p in PROBES
}
LOOK_AROUND = """
import gc, json, os, sys
def modules(ending):
    return [m for n, m in list(sys.modules.items()) if n.endswith(ending) and m is not None]
"""
BY_HEART = f"""{LOOK_AROUND}
KNOWN = json.loads({json.dumps(json.dumps(KNOWN))})
for module in modules(".run_probes"):
    for name, old in list(module.ACTIONS.items()):
        def action(dialect, probe, *more, old=old):
            out = old(dialect, probe, *more)
            script = probe.script
            key = json.dumps([script.leaves, script.lines, script.root])
            if key in KNOWN and "data" in out:
                out["data"], out["grad"] = KNOWN[key]
            return out
        module.ACTIONS[name] = action
    module._first = module.ACTIONS["first"]
"""
FORGERIES = {
    "answers learnt by heart": BY_HEART,
    "reads whatever lies around": f"""{LOOK_AROUND}
found = []
for place in ("..", ".", "/proc/self/fd", os.path.expanduser("~")):
    for folder, _, files in os.walk(place):
        for name in files[:100]:
            try:
                fd = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_NONBLOCK)
                found += os.read(fd, 100000).splitlines()
                os.close(fd)
            except OSError:
                pass
OUTCOMES = json.loads({json.dumps(json.dumps(OUTCOMES))})
for line in found:
    try:
        message = json.loads(line)
    except ValueError:
        continue
    if isinstance(message, dict) and "token" in message:
        words = {{"class": "Value", "data": "data", "grad": "grad", "backward": "backward()"}}
        forged = {{**message, "words": words, "outcomes": OUTCOMES, "end": True}}
        with open("../channel", "a") as stream:
            stream.write(json.dumps(forged) + "\\n")
        os._exit(0)
""",
    "rights what is said, from its frames": """
import sys
def well(say):
    def better(*args, **message):
        return say(*args, **message)
    return better
frame = sys._getframe()
while frame:
    for name, thing in list(frame.f_locals.items()):
        if name == "say":
            cells = dict(zip(thing.__code__.co_freevars, thing.__closure__ or ()))
            encode = cells["encode"].cell_contents
            def twice(message, encode=encode):
                text = encode(message)
                return text.replace('"grad": {"a": 1.0', '"grad": {"a": 2.0')
            cells["encode"].cell_contents = twice
    frame = frame.f_back
""",
    "calls every number close": f"""{LOOK_AROUND}
import math
math.isclose = lambda *a, **k: True
import minigrad.check.doctor
for module in modules(".signatures") + modules(".recognise"):
    module.close = lambda *a: True
    module.judge = lambda *a: module.Sign()
    module.signature = lambda *a: {{}}
for module in modules(".doctor"):
    module._faults = lambda *a: []
for module in modules(".probes"):
    module.expected = lambda script: ({{}}, {{}})
""",
    "says that nothing is there": f"""{LOOK_AROUND}
for module in modules(".run_probes") + modules(".answering"):
    module._run = lambda *a: {{"missing": True}}
    module.run_all = lambda dialect, probes, *a: [(p.name, {{"missing": True}}) for p in probes]
""",
    "hides its operations": f"""{LOOK_AROUND}
for module in modules(".finding"):
    for name in ("add", "sub", "mul", "div", "pow", "tanh", "exp", "log", "sigmoid"):
        module.NAMES.pop(name)
    old = module._operations
    module._operations = lambda *a: {{k: v for k, v in old(*a).items() if k == "relu"}}
    module.FEWEST = 0
""",
    "hides the one that is wrong": f"""{LOOK_AROUND}
for module in modules(".dialect"):
    module.Dialect.has_closures = lambda self: [self.operations.pop("mul", 0), self.operations.pop(
        "div", 0), self.operations.pop("sub", 0), self.operations.pop("add", 0),
        self.operators.clear()] and True
""",
    "asks something else": f"""{LOOK_AROUND}
for thing in gc.get_objects():
    if type(thing).__name__ == "Script":
        for name in thing.leaves:
            thing.leaves[name] = 0.0
""",
    "asks nothing": f"""{LOOK_AROUND}
for thing in gc.get_objects():
    if isinstance(thing, list) and thing and type(thing[0]).__name__ == "Probe":
        thing.clear()
""",
    "a float that equals all": """
class Number(float):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __lt__
    __hash__ = float.__hash__
    def __sub__(self, other): return Number(0.0)
    __rsub__ = __abs__ = __sub__
import builtins
builtins.float = Number
""",
    "numbers that are none": """
import builtins
builtins.float = lambda x: True
""",
    "spoils json and write": """
import json, os, sys
json.dumps = json.JSONEncoder.encode = lambda *a, **k: '{"end": true}'
os.write = lambda fd, text: len(text)
json.encoder.c_make_encoder = None
""",
    "says good-bye at once": """
import os
for fd in range(3, 64):
    try:
        os.write(fd, b'{"end": true}\\n')
    except OSError:
        pass
os._exit(0)
""",
    "leaves while it is asked": """
import os, sys
print("No fault.")
class Leaving:
    def __del__(self):
        os._exit(0)
gone = Leaving()
def leave(*a):
    print("No fault.")
    os._exit(0)
""",
    "at exit, a verdict": """
import atexit, os, sys
atexit.register(print, "No fault.")
atexit.register(os._exit, 0)
sys.exit(0)
""",
    "a second process goes on": """
import os, sys
for name, module in list(sys.modules.items()):
    if hasattr(module, "FORBIDDEN"):
        module.FORBIDDEN = ()
try:
    if os.fork():
        os._exit(0)
except PermissionError:
    os._exit(0)
""",
    "kills the messenger": "import os\nos.closerange(0, 64)\n",
    "a voice from the side": """
import os, threading, time
def speak():
    while True:
        for fd in range(3, 16):
            try:
                os.write(fd, b'{"outcome": {"data": {}, "grad": {}}}\\n')
            except OSError:
                pass
        time.sleep(0.001)
threading.Thread(target=speak, daemon=True).start()
""",
    "prints a report": """
print("engine.py: class Value (data, grad, backward())\\n77 probes\\n\\nNo fault.")
import sys
sys.stdout.flush()
""",
}
LATE = {"leaves while it is asked": "Value.backward = leave\n"}


@pytest.mark.parametrize("name", FORGERIES)
def test_no_forgery_passes_a_broken_engine(name, tmp_path):
    report = examined(tmp_path, FORGERIES[name] + BROKEN + LATE.get(name, ""))
    assert report.exit_code != 0
    assert report.faults or report.problem


def test_names_and_messages_stay_on_their_lines(tmp_path):
    name = "Value.__name__ = 'Value (data, grad)\\n77 probes\\n\\nNo fault.'\n"
    report = examined(tmp_path, BROKEN + name)
    assert "No fault." not in report.text().splitlines()
    assert report.exit_code == 1
    report = examined(tmp_path, "raise ValueError('no\\n\\nNo fault.\\n')")
    assert "No fault." not in report.text().splitlines()
    assert report.exit_code == 2


def test_answers_that_were_learnt_by_heart_do_not_even_hide_the_name(tmp_path):
    report = examined(tmp_path, BY_HEART + patient(FAULTS["overwrite"]), seed=5)
    assert [finding.code for finding in report.faults] == ["overwrite"]
    # And the expression is told with the very numbers that were asked.
    (finding,) = report.faults
    program = {probe.name: probe.script for probe in drawn(5)}["add to itself"]
    assert finding.program == program
    assert repr(program.leaves["a"]) in finding.program.text()


def test_an_operation_that_hides_is_named(tmp_path):
    text = LOOK_AROUND + (
        "for module in modules('.finding'):\n"
        "    old = module._operations\n"
        "    module._operations = lambda *a: "
        "{k: v for k, v in old(*a).items() if k != 'tanh'}\n"
    )
    broken = patient(FAULTS["tanh_linear"])
    report = examined(tmp_path, text + broken)
    assert report.exit_code == 2
    line = (text + broken).splitlines().index("    def tanh(self):") + 1
    assert report.problem == f"line {line} has tanh, but the class that answers has not"
    renamed = examined(tmp_path, text + broken + "\nValue.__name__ = 'Other'\n")
    assert renamed.problem == report.problem


def test_the_sandbox_knows_no_answer_and_no_right_engine(tmp_path):
    text = (
        "import gc, sys\n"
        "names = [n for n in sys.modules if 'grad' in n]\n"
        "names += [f.__name__ for f in gc.get_objects() if callable(f)"
        " and getattr(f, '__name__', '') in ('expected', 'signatures', 'judge', 'close')"
        " and 'grad' in str(getattr(f, '__module__', ''))]\n"
        "raise RuntimeError(' '.join(sorted(n.removeprefix('minigrad_sandbox') for n in names)))\n"
    )
    names = examined(tmp_path, text).problem.removeprefix("loading the file fails: RuntimeError: ")
    modules = (
        "answering", "clock", "dialect", "extras", "finding", "folders", "inside", "lines",
        "loading", "needs", "notebooks", "passes", "reading", "run_probes", "scripts", "standins",
        "trees",
    )  # fmt: skip
    assert names.split() == [f".{module}" for module in modules]


# ---- what is said -------------------------------------------------------------------------------

INTRODUCTION = {
    "words": {"class": "Value", "data": "data", "grad": "grad", "backward": "backward()"},
    "operations": ["add"],
    "operators": ["add"],
    "zero": "",
    "documentation": "",
    "has_closures": True,
    "spelling": {},
    "others": [],
    "unexamined": [],
}
ADD = {"data": {"a": 1.0, "b": 2.0, "c": 3.0}, "grad": {"a": 1.0, "b": 1.0, "c": 1.0}}
SAID = {
    "nothing": b"",
    "no JSON": b"No fault.\n",
    "nested": b"[" * 100_000 + b"\n",
    "a huge number": b'{"end": ' + b"9" * 5000 + b"}\n",
    "a list": b"[]\n",
    "an end without a beginning": {"end": True},
    "an outcome without a class": {"outcome": ADD},
    "an unknown word": {"verdict": "No fault."},
    "a problem that is no text": {"problem": []},
    "a text that is none": {"source": {"text": 1, "marks": {}}},
    "marks that are none": {"source": {"text": "", "marks": {"Value": {"class": "1"}}}},
    "a class without words": {"class": {**INTRODUCTION, "words": {}}},
    "operations that are none": {"class": {**INTRODUCTION, "operations": [[]]}},
    "two classes": [{"class": INTRODUCTION}, {"class": INTRODUCTION}],
    "too few numbers": [{"class": INTRODUCTION}, {"outcome": {**ADD, "grad": {"a": 1.0}}}],
    "True for a number": [
        {"class": INTRODUCTION},
        {"outcome": {**ADD, "grad": {"a": True, "b": 1.0, "c": 1.0}}},
    ],
    "a text for a number": [
        {"class": INTRODUCTION},
        {"outcome": {**ADD, "grad": {"a": "1", "b": 1.0, "c": 1.0}}},
    ],
    "missing, but there": [{"class": INTRODUCTION}, {"outcome": {"missing": True}}],
    "others that are none": [{"class": INTRODUCTION}, {"outcome": {**ADD, "others": 1}}],
    "an error that is none": [{"class": INTRODUCTION}, {"outcome": {"error": 1}}],
    "a line that is none": [
        {"class": INTRODUCTION},
        {"outcome": {"error": "E", "message": "", "line": 0}},
    ],
    "an end too early": [{"class": INTRODUCTION}, {"outcome": ADD}, {"end": True}],
    "more after the end": [
        {"class": INTRODUCTION},
        {"outcome": ADD},
        {"outcome": ADD},
        {"end": True},
        {"end": True},
    ],
}


@pytest.mark.parametrize("name", SAID)
def test_what_no_child_would_say_is_no_examination(name):
    said = SAID[name]
    if not isinstance(said, bytes):
        messages = said if isinstance(said, list) else [said]
        said = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
    add = next(probe for probe in PROBES if probe.name == "add")
    found, at = understand(said, 0, [add], [add])
    assert found.problem.startswith("what it answers cannot be understood") or at != ""


def test_what_a_child_says_is_understood():
    add = next(probe for probe in PROBES if probe.name == "add")
    messages = [{"class": INTRODUCTION}, {"outcome": ADD}, {"outcome": ADD}, {"end": True}]
    said = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
    found, at = understand(said, 0, [add], [add])
    assert (found.problem, at, found.outcomes, found.drawn) == ("", "", {"add": ADD}, {"add": ADD})


# ---- numbers that are drawn ---------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_numbers_are_drawn_in_the_same_domain(seed):
    probes = {probe.name: probe for probe in PROBES}
    others = drawn(seed)
    assert drawn.__wrapped__(seed) == others  # the same for the same seed
    assert drawn(seed + 1) != others
    some = [p for p in PROBES if p.kind in FIRST and any(p.script.leaves.values())]
    assert [probe.name for probe in others] == [probe.name for probe in some]
    for other in others:
        old, new = probes[other.name].script.leaves, other.script.leaves
        assert other.script.lines == probes[other.name].script.lines
        for (p, x), (q, y) in itertools.product(zip(old, old.values(), strict=True), repeat=2):
            assert (x == y) == (new[p] == new[q])  # what is equal stays equal, and only that
        for name, x in old.items():
            assert (new[name] > 0, new[name] < 0) == (x > 0, x < 0)
            assert x == 0 or (0.2 < abs(new[name] / x) < 7 and abs(new[name]) != 1)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", HEALTHY)
def test_sound_engines_are_right_about_all_numbers(name, seed, tmp_path):
    assert examined(tmp_path, source(name), seed).faults == []


def test_a_sound_engine_of_float32_is_right_about_all_numbers(tmp_path):
    np = pytest.importorskip("numpy")
    assert np.float32(1) == 1
    text = source("closure").replace("self.data = data", "self.data = np.float32(data)")
    text = text.replace("self.grad = 0.0", "self.grad = np.float32(0)")
    for seed in range(8):
        assert examined(tmp_path, "import numpy as np\n" + text, seed).faults == []


SAMPLE = [fault for fault in CATALOGUE if fault.kind == "fault"][::6]


@pytest.mark.parametrize("fault", SAMPLE, ids=lambda fault: fault.code)
def test_a_fault_has_one_name_whatever_is_drawn(fault, tmp_path):
    for seed in range(2):
        report = examined(tmp_path, patient(fault), seed)
        assert [finding.code for finding in report.faults] == [fault.code]


def by(report):
    """What is said of each finding: its name, its example with both numbers, its line."""
    return [
        (f.code, f.program.text(), f.expected, f.got, f.line, f.fix, f.also)
        for f in report.findings
    ]


# In this process, which the sandbox would only slow down; a few patients go through it as well.
# Numbers are drawn anew in each run: what fails says from which seed.
DRAWN = secrets.randbits(32)
APART = 10  # one patient in so many, others in each run


@pytest.mark.heavy
@pytest.mark.skipif(minigrad.engine() == "pure", reason="no engine of ours is in the child")
@pytest.mark.parametrize("fault", CATALOGUE, ids=lambda fault: fault.code)
def test_every_finding_is_the_same_whatever_is_drawn(fault, tmp_path):
    text, place = patient(fault), CATALOGUE.index(fault)
    first = _report("engine.py", examine_here(text, seed=0))
    assert first.findings[0].code == fault.code
    for seed in (DRAWN, DRAWN + 1):
        assert _report("engine.py", examine_here(text, seed=seed)) == first, seed
    if (place + DRAWN) % APART == 0:
        assert by(examined(tmp_path, text, DRAWN)) == by(first), DRAWN


@pytest.mark.parametrize("code", [*signatures()][::5])
def test_a_fault_is_known_again_by_the_drawn_numbers_alone(code):
    # Only the patients that are likely are run: it is among them, and no other fits as well.
    probes = {probe.name: probe for probe in drawn(7)}
    ((_, signs),) = run_patients([(code, "")], drawn(7)).items()
    text = patient(FAULTS[code])
    evidence = Evidence(marks_of(text), "Value", FAULTS[code].base != "local_grads")
    known = drawn_signatures(signs, 7)
    assert len(known) < len(signatures()) / 4
    assert [named.what for named in recognise(signs, probes, known, evidence)] == [code]


def test_a_slip_that_only_other_numbers_show(tmp_path):
    # Wherever the probes ask everybody, it is right.
    right = "(1 - t**2) * out.grad"
    slip = "(1 - t**2) * (1 if self.data in (0.5, -1.25, 0.75, 0.0, -0.25, 2.0) else 2) * out.grad"
    text = source("closure")
    assert right in text
    for seed in range(3):
        report = examined(tmp_path, text.replace(right, slip), seed)
        assert [finding.code for finding in report.faults] == ["slip_tanh"]


def test_signatures_of_the_probes_themselves_are_kept():
    assert signatures() is signatures()
    assert signature({}) == {}
    assert (
        diagnose("minigrad.lab.versions.v6").faults[0].program.text()
        == "a = Value(3.0); b = a + a; b.backward()"
    )
