"""The kernels made from the op table, compiled on their own, for every instruction set of this CPU.

The rules on floats say what is right; for the functions that `vecmath.h` computes itself, mpmath.
"""

from __future__ import annotations

import ctypes
import math
import random
import shutil
import subprocess
import sys
import sysconfig
from itertools import product
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from conftest import absent
from hypothesis import given
from hypothesis import strategies as st
from precise import ulps
from test_ops import EDGES, close, samples

from minigrad.codegen.c_kernels import header
from minigrad.codegen.elementwise import MAPS
from minigrad.maths import floats as ieee

PROBE = """
#include <math.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#define ISA(name) name##_baseline
#define LANES 2
#include "minigrad_kernels.h"
#undef ISA
#undef LANES

#if defined(__x86_64__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define ISA(name) name##_avx2
#define LANES 4
#include "minigrad_kernels.h"
#undef ISA
#undef LANES
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx2,fma")
#define ISA(name) name##_avx512
#define LANES 8
#include "minigrad_kernels.h"
#pragma GCC pop_options

int has_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
int has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#else
int has_avx2(void) { return 0; }
int has_avx512(void) { return 0; }
#endif
int has_baseline(void) { return 1; }

#define EXPORT(isa)                                                                               \\
    void do_map_##isa(int op, long n, double *out, const double *a, const double *b,              \\
                      const double *c)                                                            \\
    {                                                                                             \\
        map_##isa(op, n, out, a, b, c);                                                           \\
    }                                                                                             \\
    void do_vjp_##isa(int op, int which, long n, double *out, const double *g, const double *y,   \\
                      const double *a, const double *b, const double *c)                          \\
    {                                                                                             \\
        vjp_##isa(op, which, n, out, g, y, a, b, c);                                              \\
    }
EXPORT(baseline)
#if defined(__x86_64__) && !defined(__clang__)
EXPORT(avx2)
EXPORT(avx512)
#endif
"""


class Kernels:
    """The kernels of one instruction set, on arrays."""

    def __init__(self, library, isa):
        self._map, self._vjp = library[f"do_map_{isa}"], library[f"do_vjp_{isa}"]
        integer, pointer = ctypes.c_int, ctypes.c_void_p
        self._map.argtypes = [integer, ctypes.c_long, *[pointer] * 4]
        self._vjp.argtypes = [integer, integer, ctypes.c_long, *[pointer] * 6]

    def map(self, op, *columns, out=None):
        columns = [np.asarray(column, dtype=float) for column in columns]
        out = np.empty(len(columns[0])) if out is None else out
        self._map(op.code, len(out), out.ctypes.data, *_addresses(columns, 3))
        return out

    def vjp(self, op, which, g, y, *columns, out=None):
        columns = [np.asarray(column, dtype=float) for column in (g, y, *columns)]
        out = np.empty(len(columns[0])) if out is None else out
        self._vjp(op.code, which, len(out), out.ctypes.data, *_addresses(columns, 5))
        return out


def _addresses(columns, count):
    return [column.ctypes.data for column in columns] + [None] * (count - len(columns))


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which((sysconfig.get_config_var("CC") or "cc").split()[0])
    if compiler is None:
        absent("no C compiler here; install one, such as gcc")
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "minigrad_kernels.h").write_text(header())
    (folder / "probe.c").write_text(PROBE)
    include = f"-I{Path(__file__).parent.parent / 'src/minigrad/native'}"
    flags = "-O3 -ffp-contract=off -fno-math-errno -fno-trapping-math -shared -fPIC -Wall -Werror"
    subprocess.run(
        [compiler, *flags.split(), "-I.", include, "probe.c", "-o", "probe.so", "-lm"],
        cwd=folder,
        check=True,
    )
    return ctypes.CDLL(str(folder / "probe.so"))


@pytest.fixture(scope="module", params=["baseline", "avx2", "avx512"])
def kernels(request, library):
    if not library[f"has_{request.param}"]():
        pytest.skip(f"this CPU has no {request.param}")
    return Kernels(library, request.param)


every_op = pytest.mark.parametrize("op", MAPS.values(), ids=lambda op: op.name)


def cases(op):
    """Arguments from the domain, the probes, and every combination of edges."""
    if not op.domain:  # the rows that only programs have
        return list(product([0.0, 1.0, -2.5, 7.0], repeat=op.arity))
    edges = list(product(EDGES, repeat=op.arity))
    if op.name == "log_add":  # the logarithm of a sum: at home where no term is below 0
        edges = [(a, b, c) for a, b, c in edges if a == b and c >= 0.0]
    elif op.arity == 3:  # 13 * 13 * 13 would be too many
        edges = edges[::7]
    drawn = [tuple(map(float, arguments)) for arguments in samples(op, 150)]
    return [*drawn, *op.probes, *edges]


# Made of + - * / and selections alone, or of a root: these have no freedom at all.
EXACT = (
    "add sub mul div neg abs sqrt relu leaky_relu maximum minimum clip where "
    "less less_equal equal and_ or_ not_ stop_gradient"
).split()
# Several functions in a row, whose differences add up.
COMPOSED = ("exp_sub", "log_add", "atan2_slope", "gelu", "sigmoid", "bell", "softplus", "silu")


def same(a, b):
    """Whether two numbers are the same, the sign of zero included."""
    both_nan = math.isnan(a) and math.isnan(b)
    return both_nan or (a == b and math.copysign(1.0, a) == math.copysign(1.0, b))


@every_op
def test_values(kernels, op):
    rows = cases(op)
    for got, arguments in zip(kernels.map(op, *zip(*rows, strict=True)), rows, strict=True):
        right = float(op.value(ieee, *arguments))
        if op.name in EXACT or right == 0.0:
            assert same(got, right), (arguments, got, right)
        else:
            assert close(got, right, 4 if op.name in COMPOSED else 2), (arguments, got, right)


@every_op
def test_partials(kernels, op):
    rows = cases(op)
    columns = list(zip(*rows, strict=True))
    y = [float(op.value(ieee, *arguments)) for arguments in rows]
    for which, partial in enumerate(op.partials):
        got = kernels.vjp(op, which, np.full(len(rows), 3.0), y, *columns)
        for k, arguments in enumerate(rows):
            right = 3.0 * partial(ieee, y[k], *arguments)
            near = close(got[k], right) or abs(got[k] - right) <= 1e-13 * abs(right)
            assert near, (arguments, which, got[k], right)


def test_a_vjp_multiplies_as_ieee_says(kernels):
    op = MAPS["log"]
    g, x = np.array([0.0, -0.0, 2.0, math.nan] * 5), np.array([0.0, 0.0, 4.0, 1.0] * 5)
    for got, right in (
        (kernels.vjp(op, 0, g, x, x), [math.nan, math.nan, 0.5, math.nan]),  # 0 * inf is nan
        (kernels.vjp(MAPS["add"], 0, g, x, x, x), [0.0, -0.0, 2.0, math.nan]),
    ):
        assert all(same(a, b) for a, b in zip(got, right * 5, strict=True)), (got, right)


# ---- the functions that vecmath.h computes itself ------------------------------------------------


def _far_sine(function):
    def precisely(x):
        with mp.workprec(1200):
            return function(x)

    return precisely


TRUE = {
    "exp": mp.exp,
    "expm1": mp.expm1,
    "log": mp.log,
    "log1p": mp.log1p,
    "tanh": mp.tanh,
    "erf": mp.erf,
    "erfc": mp.erfc,
    "sin": _far_sine(mp.sin),
    "cos": _far_sine(mp.cos),
}
# Where reductions, polynomials and the range of the floats begin or end.
SEAMS = {
    "exp": (-745.13, -708.4, -0.3466, 0.3466, 709.78, 1.0397),
    "expm1": (-37.5, -0.3466, 0.3466, 1.0397, 36.74, 709.78),
    "log": (0.7071, 1.0, 1.4142, 2.2250738585072014e-308),
    "log1p": (-0.999999, -0.29, 0.41, 1e-16, 9e15),
    "tanh": (0.1733, 0.52, 19.06, 20.0),
    "erf": (0.5, 1.0, 5.9, 6.0),
    "erfc": (-0.5, 0.5, 3.5, 5.9, 26.54, 27.22),
    "sin": (*(float(k * mp.pi / 2) for k in (1, 2, 3, 4, 11, 22, 355, 710, 63661)), 1e5, 7e22),
    "cos": (*(float(k * mp.pi / 2) for k in (1, 2, 3, 4, 11, 22, 355, 710, 63661)), 1e5, 7e22),
}


def arguments_for(name):
    """Points of all sizes, around every seam, and over the interval that matters most."""
    rng = random.Random(name)
    points = [sign * 10.0 ** rng.uniform(-320, 5) for sign in (1, -1) for _ in range(60)]
    points += [rng.uniform(-6.0, 6.0) for _ in range(150)]
    points += [rng.uniform(-30.0, 30.0) for _ in range(60)]
    for seam in SEAMS[name]:
        points += [seam * (1.0 + rng.randrange(-40, 40) * 2.0**-52) for _ in range(6)]
        points += [seam * (1.0 + rng.uniform(-0.01, 0.01)) for _ in range(12)]
    low = {"log": 0.0, "log1p": -1.0}.get(name, -math.inf)
    return [x for x in points if x > low]


@pytest.fixture(scope="module")
def truth():
    """The arguments and true values of every function, computed once for all instruction sets."""
    with mp.workprec(200):
        return {
            name: [(x, function(mp.mpf(x))) for x in arguments_for(name)]
            for name, function in TRUE.items()
        }


@pytest.mark.parametrize("name", TRUE)
def test_own_functions_are_within_one_and_a_half_ulps(kernels, truth, name):
    got = kernels.map(MAPS[name], [x for x, _ in truth[name]])
    for y, (x, true) in zip(got, truth[name], strict=True):
        assert ulps(float(y), true) <= 1.5, (x, y, float(true))


def test_slopes_of_the_error_function_are_within_two_ulps(kernels):
    """Those of the exponential, and half of one for each the constant and the product by it."""
    rng = random.Random(7)
    xs = [rng.uniform(-reach, reach) for reach in (1.0, 6.0, 26.0) for _ in range(300)]
    with mp.workprec(200):
        true = [2 / mp.sqrt(mp.pi) * mp.exp(-(mp.mpf(x) ** 2)) for x in xs]
    got = kernels.vjp(MAPS["erf"], 0, [1.0] * len(xs), xs, xs)
    for x, y, right in zip(xs, got, true, strict=True):
        assert ulps(float(y), right) <= 2.0, (x, y, float(right))


@pytest.mark.parametrize("power", [2.0, 1.0, 0.0, -1.0, 0.5, 3.0, -2.0, -0.5])
def test_powers_with_a_short_cut(kernels, power):
    rng = random.Random(power)
    xs = [*EDGES, *(10.0 ** rng.uniform(-320, 308) for _ in range(200))]
    calm = [rng.uniform(-3.0, 3.0) for _ in range(200)]  # no lane sends its neighbours to libm
    for points in (xs, calm):
        got = kernels.map(MAPS["pow"], points, [power] * len(points))
        for x, y in zip(points, got, strict=True):
            right = ieee.pow(x, power)
            assert same(y, right) or (right != 0.0 and close(y, right, 1)), (x, y, right)


# ---- loops ---------------------------------------------------------------------------------------

numbers = st.lists(st.floats() | st.floats(-30, 30), min_size=1, max_size=20)


@given(xs=numbers, name=st.sampled_from(sorted(n for n, op in MAPS.items() if op.arity == 1)))
def test_a_number_gives_the_same_bits_whatever_stands_beside_it(kernels, xs, name):
    op = MAPS[name]
    together = kernels.map(op, xs)
    slopes = kernels.vjp(op, 0, xs, together, xs)
    for x, y, slope in zip(xs, together, slopes, strict=True):
        assert same(y, kernels.map(op, [x])[0])
        assert same(slope, kernels.vjp(op, 0, [x], [y], [x])[0])


@pytest.mark.parametrize("size", range(1, 20))
def test_nothing_is_written_beside_the_result_which_may_be_an_operand(kernels, size):
    a, b = np.linspace(0.1, 3.0, size), np.linspace(-2.0, 2.0, size)
    for name in ("add", "atan2", "exp_sub", "pow"):
        op = MAPS[name]
        right = kernels.map(op, a, b)
        for shift in range(1, 8):
            room = np.full(size + 16, 7.0)
            out = room[shift : shift + size]
            kernels.map(op, a, b, out=out)
            assert np.array_equal(out, right, equal_nan=True)
            assert np.all(room[:shift] == 7.0)
            assert np.all(room[shift + size :] == 7.0)
        for k in (0, 1):
            operands = [a.copy(), b.copy()]
            kernels.map(op, *operands, out=operands[k])
            assert np.array_equal(operands[k], right, equal_nan=True)
        slope, g = kernels.vjp(op, 0, b, right, a, b), b.copy()
        kernels.vjp(op, 0, g, right, a, b, out=g)
        assert np.array_equal(g, slope, equal_nan=True)


# ---- the text ------------------------------------------------------------------------------------


def test_the_text_needs_no_numpy():
    program = (
        "import sys; sys.modules['numpy'] = None\n"
        "from minigrad.codegen.c_kernels import header; print(len(header()))"
    )
    made = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert int(made) == len(header())


def test_what_is_said_twice_is_computed_once():
    text = header()
    bodies = {}
    for part in text.split("\n\n"):
        if part.startswith("APART void ISA("):
            bodies[part.split("(")[1].split(")")[0]] = part
    assert len(set(bodies.values())) == len(bodies)
    usual, rare, *_ = bodies["vjp_atan2_0"].split("if (ISA(misses)(")
    assert (usual.count("ISA(hypot)"), rare.count("ISA(hypot)")) == (1, 1)
    # What only a rare block reads is loaded there.
    usual, rare, *_ = bodies["vjp_div_1"].split("if (ISA(misses)(")
    assert "ISA(load)(A + i" not in usual
    assert "ISA(load)(A + i" in rare
    assert "vjp_sub_0" not in bodies  # the same as that of add: a copy of g
    assert "ISA(store)(out + i, left, g);" in bodies["vjp_add_0"]
