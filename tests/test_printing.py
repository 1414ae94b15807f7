"""Programs as text."""

from __future__ import annotations

from test_program import small

from minigrad.compiler.ir.printing import text
from minigrad.compiler.ir.program import verify
from minigrad.compiler.passes.grad import grad


def test_text():
    assert text(verify(small())) == str(small())
    assert str(small()).split("\n") == [
        "inputs     v0…6   of these 3 captured",
        "constants  v7…8   0, 0.5",
        "v9…10                        =  dot          2×2        v3…6  v0[2·0, 2·1]  v2[2·0]",
        "v11                          =  exp          1          v9",
        "v12                          =  sum          1×2        v[1×2 gathered]  v7",
        "results    v12",
        "guard      v9 is 1: if a > b, line 3",
    ]


def test_text_of_a_gradient():
    lines = str(verify(grad(small(), range(3)), "grad")).split("\n")
    assert lines[5:-2] == [
        "v13…24                       =  fill         12         0",
        "v25                          =  fill         1          1",
        "v[1×2 gathered]              += add          1×2        v25[2·0]",
        "v22                          += vjp exp/0    1          v24  v11  v9",
        "v13[2·0, 2·1]                += muladd       2×2        v22[2·1, 2·0]  v3…6",
        "v15[2·0]                     += add          2×1        v22…23",
    ]
