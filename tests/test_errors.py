"""The errors by name: none is missing from the list, and the package has them all."""

from __future__ import annotations

import inspect

import minigrad
from minigrad import errors


def test_every_error_is_listed_and_has_a_place_in_the_package():
    defined = {
        name
        for name, kind in vars(errors).items()
        if inspect.isclass(kind) and issubclass(kind, BaseException) and not name.startswith("_")
    }
    assert sorted(defined) == errors.__all__
    for name in defined:
        assert issubclass(getattr(errors, name), errors.MinigradError)
        assert getattr(minigrad, name) is getattr(errors, name)
        assert name in minigrad.__all__
