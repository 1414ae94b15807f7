"""The door to the compiler: the forms of `compile`, and what it refuses."""

from __future__ import annotations

import functools

import pytest

import minigrad

near = pytest.approx
compiled = functools.partial(minigrad.compile, backend="numpy")


@pytest.mark.smoke
def test_the_forms_of_the_decorator(backend):
    @minigrad.compile
    def plain(x):
        """Its text."""
        return x * x

    @minigrad.compile(backend=backend)
    def chosen(x):
        return x * x

    direct = minigrad.compile(lambda x: x * x, backend=backend)
    assert [f(3.0).data for f in (plain, chosen, direct)] == [9.0, 9.0, 9.0]
    assert (plain.__name__, plain.__doc__) == ("plain", "Its text.")
    assert plain.__wrapped__(3.0) == 9.0


@pytest.mark.smoke
def test_bad_requests():
    with pytest.raises(TypeError, match=r"compile\(fn\): got int"):
        minigrad.compile(3)
    with pytest.raises(ValueError, match="backend='fast': choose one of auto, native, numpy"):
        minigrad.compile(lambda x: x, backend="fast")
    with pytest.raises(RuntimeError, match="call it first"):
        minigrad.compile(lambda x: x).program  # noqa: B018 - reading it is what is tested
    with pytest.raises(TypeError, match="nothing to differentiate"):
        compiled(lambda x: "text").value_and_grad(1.0)


def test_a_machine_that_was_not_built_is_told_once(monkeypatch):
    from minigrad.compiler import backends
    from minigrad.compiler.backends import native

    monkeypatch.delenv("MINIGRAD_PURE", raising=False)
    monkeypatch.setattr(native, "_vm", None)
    backends._notice.cache_clear()
    with pytest.warns(RuntimeWarning, match="was not built with this installation"):
        square = minigrad.compile(lambda x: x * x)
    assert square(3.0).data == 9.0
    assert minigrad.compile(lambda x: x * x)(4.0).data == 16.0  # warnings are errors here
    with pytest.raises(RuntimeError, match="needs a C compiler"):
        minigrad.compile(lambda x: x, backend="native")
    backends._notice.cache_clear()
