"""Arrays in zip files: what NumPy writes is read, and NumPy reads what is written."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minigrad.core.npz import Stored, pack, unpack

np = pytest.importorskip("numpy")

SHAPES = st.lists(st.integers(0, 4), max_size=3).map(tuple)
KINDS = st.sampled_from(["<f8", "<f4", "<i8", "|u1", "|b1", ">f8", "<c16"])


@st.composite
def arrays(draw):
    names = draw(st.lists(st.from_regex(r"[a-z][a-z0-9_.]{0,9}", fullmatch=True), unique=True))
    found = {}
    for name in names:
        shape, kind = draw(SHAPES), np.dtype(draw(KINDS))
        count = int(np.prod(shape)) * kind.itemsize
        data = bytes(count) if kind.kind == "b" else draw(st.binary(min_size=count, max_size=count))
        found[name] = np.frombuffer(data, kind).reshape(shape)
    return found


def stored(array):
    return Stored(array.dtype.str, array.shape, array.tobytes())


@given(arrays())
def test_what_numpy_writes_is_read(found):
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, **found)
    assert unpack(stream.getvalue()) == {name: stored(x) for name, x in found.items()}


@given(arrays())
def test_numpy_reads_what_is_written(found):
    content = pack({name: stored(x) for name, x in found.items()})
    with np.load(io.BytesIO(content), allow_pickle=False) as loaded:
        assert {name: stored(x) for name, x in loaded.items()} == {
            name: stored(x) for name, x in found.items()
        }
    assert unpack(content) == {name: stored(x) for name, x in found.items()}
