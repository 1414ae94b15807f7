"""Chapter 1: a slope by differences, of functions and steps whose numbers are exact."""

from engine import slope


def wide():
    """A wide step, so that every way to write it down gives a number of its own."""
    return {"slope(x**3, 2, h=0.25)": slope(lambda x: x**3, 2.0, 0.25)}


def narrow():
    """The step that the function has by itself."""
    return {"slope(3*x, 5)": round(slope(lambda x: 3 * x, 5.0), 6)}


EXPERIMENTS = [wide, narrow]
RIGHT = {  # worked out by hand: (2.25**3 - 1.75**3) / 0.5
    "wide": {"slope(x**3, 2, h=0.25)": 12.0625},
    "narrow": {"slope(3*x, 5)": 3.0},
}
MISTAKES = {
    "over_h": {"wide": {"slope(x**3, 2, h=0.25)": 24.125}},
    "precedence": {"wide": {"slope(x**3, 2, h=0.25)": 0.75390625}},
    "not_divided": {"wide": {"slope(x**3, 2, h=0.25)": 6.03125}},
    "one_sided": {"wide": {"slope(x**3, 2, h=0.25)": 13.5625}},
    "backward": {"wide": {"slope(x**3, 2, h=0.25)": 10.5625}},
    "sign": {"wide": {"slope(x**3, 2, h=0.25)": -12.0625}},
    "brackets": {"wide": {"slope(x**3, 2, h=0.25)": 0.671875}},
    "nothing_returned": {"wide": {"error": "None"}},
    "other_arguments": {"wide": {"error": "TypeError"}},
}
