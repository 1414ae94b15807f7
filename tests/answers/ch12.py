BRANCH = """    result = 0.0
    for x in xs:
        if x > 0:
            result = result + x
        else:
            result = result + x / 10
    return result
"""


def wrote(line):
    return [(BRANCH, f"    {line}\n")]


RIGHT = [
    wrote("return sum(where(x > 0, x, x / 10) for x in xs)"),
    wrote("return sum(x.relu() - (-x).relu() / 10 for x in xs)"),
]
MISTAKES = {
    "still_a_branch": [[], wrote("return sum(x if x > 0 else x / 10 for x in xs)")],
    "turned_around": [wrote("return sum(where(x > 0, x / 10, x) for x in xs)")],
    "cut_off": [wrote("return sum(x.relu() for x in xs)")],
    "data_only": [
        wrote("return 0 * xs[0] + sum(where(x.data > 0, x.data, x.data / 10) for x in xs)")
    ],
    "two_numbers": [
        wrote("return where(xs[0] > 0, xs[0], xs[0] / 10) + where(xs[1] > 0, xs[1], xs[1] / 10)"),
    ],
    "otherwise": [wrote("return sum(where(x > 0, x, x / 5) for x in xs)")],
}
