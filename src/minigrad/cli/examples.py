"""An example or more for each command, as its help shows them; the tests run every one."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, ...]] = {
    "": (
        "minigrad grad '(a*b + c) * (a - c)' a=2 b=3 c=4",
        "minigrad grad -h",
    ),
    "grad": (
        "minigrad grad '(a*b + c) * (a - c)' a=2 b=3 c=4",
        "minigrad grad 'n = x*w + b; o = tanh(n)' x=2 w=-3 b=6.88 --explain",
        "minigrad grad 'where(x > 0, ln(x), 0)' x=1/2 --check --second",
        "echo 'sin(x)' | minigrad grad - x=pi/3 --json",
    ),
    "explain": (
        "minigrad explain '(a*b + c) * (a - c)' a=2 b=3 c=4",
        "minigrad explain 'a*b + a' a=1 b=2 --of a --json",
    ),
    "steps": (
        "minigrad steps 'a*b + a' a=1 b=2",
        "minigrad steps 'a + a' a=3 --overwrite",
    ),
    "gradcheck": (
        "minigrad gradcheck 'tanh(x)**2' x=0.5",
        "minigrad gradcheck 'relu(x)' x=0 --against differences --against forward",
    ),
    "hessian": (
        "minigrad hessian '(1 - x)**2 + 100*(y - x**2)**2' x=-1 y=2",
        "minigrad hessian 'exp(a*b)' a=1 b=0 --json",
    ),
    "draw": (
        "minigrad draw 'n = x*w + b; o = tanh(n)' x=2 w=-3 b=1",
        "minigrad draw '(a*b + c) * (a - c)' a=2 b=3 c=4 -o diamond.svg",
        "minigrad draw 'a*a' a=3 -o - --format json",
    ),
    "play": (
        "minigrad play '(a*b + c) * (a - c)' a=2 b=3 c=4",
        "minigrad play 'tanh(x*w)' x=1 w=2 -o neuron.html --open",
    ),
    "program": (
        "minigrad program 'tanh(x1*w1 + x2*w2 + b)' x1=2 w1=-3 x2=0 w2=1 b=6.9",
        "minigrad program 'exp(a*b)' a=1 b=2 --gradient",
        "minigrad program model.py:loss 'xs=[1,2,3]' y=0.5",
    ),
    "train": (
        "minigrad train moons",
        "minigrad train xor --steps 20 --eager --json",
        "minigrad train xor --steps 60 --plot xor.png",
        "minigrad train names --steps 40 --samples 5",
        "minigrad train names --data names.txt --steps 30 --compiled",
    ),
    "run": (
        "minigrad run script.py",
        "minigrad run --compare script.py",
    ),
    "cache": ("minigrad cache", "minigrad cache --clear", "minigrad cache --json"),
    "info": ("minigrad info", "minigrad info --json"),
    "doctor": (
        "minigrad doctor engine.py",
        "minigrad doctor engine.py:Value --json",
        "minigrad doctor engine.py --html report.html",
        "minigrad doctor lesson.ipynb",
        "minigrad doctor engine.py --class Value --grad grad --backward backward",
        "minigrad doctor submissions --table -j 2 --html reports",
        "minigrad doctor submissions --csv",
    ),
    "selftest": ("minigrad selftest --seconds 1",),
    "launch": ("minigrad launch -n 2 parallel.py",),
    "lab": ("minigrad lab", "minigrad lab --lang es"),
    "lab break": ("minigrad lab break accumulate",),
    "lab course": ("minigrad lab course", "minigrad lab course --lang es"),
    "lab start": ("minigrad lab start 5", "minigrad lab start 5 --lang es"),
    "lab next": ("minigrad lab next order",),
    "lab check": ("minigrad lab check order", "minigrad lab check lab-order --json"),
    "lab reset": ("minigrad lab reset order",),
    "lab versions": ("minigrad lab versions", "minigrad lab versions 6 --diff"),
}
