"""What no watch can follow: the clock, files, the network, chance."""

from __future__ import annotations

import random
import secrets
import time

import minigrad
from minigrad.compiler.tracing.outside import leads_outside, names_outside


def test_what_cannot_be_followed_is_listed():
    from minigrad.compiler.tracing.environment import environment_of

    def function(x):
        open("a")  # noqa: SIM115
        time.perf_counter()
        secrets.token_hex()
        return x * generator.random() * chance.random()

    generator, chance = random.Random(1), random.SystemRandom()
    assert environment_of(function).cannot_follow == [
        "open (files)",
        "random.Random (random numbers)",
        "random.SystemRandom (random numbers)",
        "secrets (random numbers)",
        "time.perf_counter (the clock)",
    ]
    assert environment_of(lambda x: x * 2).cannot_follow == []


def test_chance_without_a_state_may_be_in_reach():
    chance = random.SystemRandom()
    fast = minigrad.compile(lambda x: x * 2 if chance else x)
    assert fast(1.0).data == 2.0


def test_where_names_lead():
    assert leads_outside("time", "perf_counter") == "time.perf_counter (the clock)"
    assert leads_outside("builtins", "open") == leads_outside("_io", "open") == "open (files)"
    assert leads_outside("numpy.random", "rand") == "numpy.random.rand (random numbers)"
    assert leads_outside("urllib.request", "urlopen") == "urllib.request.urlopen (the network)"
    for module, name in [("time", "sleep"), ("math", "sin"), ("threading", "Lock")]:
        assert leads_outside(module, name) is None


def test_names_beside_a_module():
    assert list(names_outside("random", set())) == ["random (random numbers)"]
    assert list(names_outside("os", {"getcwd", "path"})) == ["os.getcwd (the environment)"]
    assert list(names_outside("math", {"sin"})) == []
