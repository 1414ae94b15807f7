"""Data to train on: points lie where they should, and the same seed gives the same ones."""

from __future__ import annotations

import math

import pytest

from minigrad import datasets


@pytest.mark.smoke
@pytest.mark.parametrize("name", datasets.POINTS)
def test_points_are_reproducible_pairs_of_two_classes(name):
    make = datasets.POINTS[name]
    xs, ys = make(61, seed=5)
    assert (len(xs), len(ys)) == (61, 61)
    assert all(len(x) == 2 for x in xs)
    assert abs(ys.count(1) - ys.count(-1)) <= 1
    assert set(ys) == {-1, 1}
    assert make(61, seed=5) == (xs, ys)
    assert make(61, seed=6) != (xs, ys)


def radii(xs, ys, label, centre=(0.0, 0.0)):
    pairs = zip(xs, ys, strict=True)
    return [math.dist(x, centre) for x, y in pairs if y == label]


def test_without_noise_points_lie_on_their_curves():
    xs, ys = datasets.circles(40, noise=0.0)
    assert radii(xs, ys, -1) == pytest.approx([1.0] * 20)
    assert radii(xs, ys, 1) == pytest.approx([0.5] * 20)
    xs, ys = datasets.moons(40, noise=0.0)
    assert radii(xs, ys, -1) == pytest.approx([1.0] * 20)
    assert radii(xs, ys, 1, (1.0, 0.5)) == pytest.approx([1.0] * 20)
    assert all(x[1] >= 0 for x, y in zip(xs, ys, strict=True) if y == -1)
    assert all(x[1] <= 0.5 for x, y in zip(xs, ys, strict=True) if y == 1)
    xs, ys = datasets.xor(40, noise=0.0)
    assert all((x[0] * x[1] < 0) == (y == 1) for x, y in zip(xs, ys, strict=True))
    assert {tuple(x) for x in xs} == {(1, 1), (-1, -1), (1, -1), (-1, 1)}
    xs, ys = datasets.spiral(40, noise=0.0)
    assert radii(xs, ys, -1) == pytest.approx(radii(xs, ys, 1))
    assert radii(xs, ys, 1) == sorted(radii(xs, ys, 1))


def test_noise_is_as_wide_as_it_says():
    xs, _ = datasets.circles(4000, noise=0.3, seed=1)
    exact, _ = datasets.circles(4000, noise=0.0)
    off = [a - b for x, y in zip(xs, exact, strict=True) for a, b in zip(x, y, strict=True)]
    assert math.sqrt(sum(d * d for d in off) / len(off)) == pytest.approx(0.3, rel=0.05)


def test_mistakes():
    with pytest.raises(ValueError, match="ask for at least 2 points"):
        datasets.moons(1)
    with pytest.raises(ValueError, match="noise=-1: give a number from 0 on"):
        datasets.xor(noise=-1)


def test_names_are_bundled_or_from_a_file(tmp_path):
    found = datasets.names()
    assert len(found) == len(set(found)) > 200
    assert all(name.isascii() and name.islower() and name.isalpha() for name in found)
    path = tmp_path / "names.txt"
    path.write_text("ann\n\n  bob \n", encoding="utf-8")
    assert datasets.names(path) == ["ann", "bob"]
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(ValueError, match="has no name in it; put one on each line"):
        datasets.names(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="is not UTF-8 text"):
        datasets.names(path)
