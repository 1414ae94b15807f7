"""A function with a branch, for the compiler: the twelfth chapter's own file."""

from minigrad import where


def total(xs):
    """Return the sum of x where x is positive, and of x/10 where it is not."""
    return sum(where(x > 0, x, x / 10) for x in xs)
