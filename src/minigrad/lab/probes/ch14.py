"""Chapter 14: gradients of machines that had different numbers of examples."""

from engine import all_reduce


def even():
    """Two machines with three examples each."""
    found = all_reduce([([6.0, 3.0], 3), ([12.0, -3.0], 3)])
    return {"3 + 3 examples, first": found[0], "3 + 3 examples, second": found[1]}


def uneven():
    """One machine with three examples, one with a single one."""
    found = all_reduce([([9.0, 3.0], 3), ([7.0, 6.0], 1)])
    return {"3 + 1 examples, first": found[0], "3 + 1 examples, second": found[1]}


def alone():
    """One machine, four examples; and one with nothing to do beside it."""
    found = all_reduce([([8.0], 4), ([0.0], 0)])
    return {"4 + 0 examples": found[0]}


def three():
    """Three machines with one, two and one examples, and three parameters."""
    found = all_reduce([([1.0, 2.0, 3.0], 1), ([4.0, 5.0, 6.0], 2), ([7.0, 8.0, 9.0], 1)])
    return {"1 + 2 + 1 examples, first": found[0], "1 + 2 + 1 examples, third": found[2]}


EXPERIMENTS = [even, uneven, alone, three]
RIGHT = {  # worked out by hand: (6 + 12) / 6, (9 + 7) / 4, (3 + 6) / 4, 8 / 4, (1 + 4 + 7) / 4, …
    "even": {"3 + 3 examples, first": 3.0, "3 + 3 examples, second": 0.0},
    "uneven": {"3 + 1 examples, first": 4.0, "3 + 1 examples, second": 2.25},
    "alone": {"4 + 0 examples": 2.0},
    "three": {"1 + 2 + 1 examples, first": 3.0, "1 + 2 + 1 examples, third": 4.5},
}
MISTAKES = {
    "divides_by_nothing": {
        "even": {"3 + 3 examples, first": 3.0},
        "alone": {"error": "ZeroDivisionError"},
    },
    "mean_of_means": {
        "even": {"3 + 3 examples, first": 3.0},
        "uneven": {"3 + 1 examples, first": 5.0, "3 + 1 examples, second": 3.5},
    },
    "whole_numbers": {"uneven": {"3 + 1 examples, first": 4.0, "3 + 1 examples, second": 2.0}},
    "sum": {"even": {"3 + 3 examples, first": 18.0}},
    "weighted_twice": {"even": {"3 + 3 examples, first": 9.0}, "alone": {"4 + 0 examples": 8.0}},
    "by_machines": {"even": {"3 + 3 examples, first": 9.0}},
    "means_added": {
        "even": {"3 + 3 examples, first": 6.0},
        "uneven": {"3 + 1 examples, first": 10.0},
    },
    "one_count": {"even": {"3 + 3 examples, first": 6.0}},
    "first_machine": {"even": {"3 + 3 examples, first": 2.0}},
    "not_a_list": {"even": {"error": "TypeError"}},
    "in_a_row": {"even": {"3 + 3 examples, first": 1.0, "3 + 3 examples, second": 0.5}},
    "two_parameters": {"alone": {"error": "IndexError"}},
    "two_machines": {"three": {"error": "ValueError"}},
    "first_two": {"three": {"1 + 2 + 1 examples, first": 1.6666666666666667}},
}
