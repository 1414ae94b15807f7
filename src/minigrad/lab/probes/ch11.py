"""Chapter 11: shares that add up, and a mix of values by how well keys fit."""

from engine import Value, attend, softmax


def shares():
    """The softmax of log 1, log 2, log 5: an eighth, a quarter, five eighths."""
    found = softmax([Value(0.0), Value(0.6931471805599453), Value(1.6094379124341003)])
    return {f"share {k + 1} of 1 : 2 : 5": share.data for k, share in enumerate(found)}


def far_out():
    """Scores of a thousand and more: e**1000 is too large for a computer."""
    found = softmax([Value(1000.0), Value(1000.0)])
    return {"share of one of two scores of 1000": found[0].data}


def apart():
    """Scores that are far from each other, the largest one at either end."""
    return {
        "share of 3000 before 0": softmax([Value(3000.0), Value(0.0)])[0].data,
        "share of 3000 after 0": softmax([Value(0.0), Value(3000.0)])[1].data,
    }


def below():
    """Scores that are all far below 0, where every power alone would be 0."""
    found = softmax([Value(-1000.0), Value(-1000.0)])
    return {"share of one of two scores of -1000": found[0].data}


def mixed():
    """Four numbers to a key, so that the root of the size is 2."""
    query = [Value(1.0), Value(0.0), Value(0.0), Value(0.0)]
    keys = [[Value(0.0)] * 4, [Value(2.1972245773362196), *[Value(0.0)] * 3]]  # 2 log 3
    values = [[Value(0.0), Value(8.0)], [Value(4.0), Value(0.0)]]
    found = attend(query, keys, values)
    return {"mix, first number": found[0].data, "mix, second number": found[1].data}


def wider():
    """Nine numbers to a key, so that the root of the size is 3."""
    query = [Value(1.0), *[Value(0.0)] * 8]
    keys = [[Value(0.0)] * 9, [Value(3.295836866004329), *[Value(0.0)] * 8]]  # 3 log 3
    values = [[Value(0.0), Value(8.0)], [Value(4.0), Value(0.0)]]
    found = attend(query, keys, values)
    return {"mix with nine to a key, first": found[0].data}


def moved():
    """How a share of 1/4 moves with its score, and the mix with a value whose share is 3/4."""
    scores = [Value(0.0), Value(1.0986122886681098)]
    softmax(scores)[0].backward()
    values = [[Value(0.0)], [Value(4.0)]]
    keys = [[Value(0.0)] * 4, [Value(2.1972245773362196), *[Value(0.0)] * 3]]
    attend([Value(1.0), Value(0.0), Value(0.0), Value(0.0)], keys, values)[0].backward()
    return {
        "slope of a share of 1/4 by its score": scores[0].grad,
        "slope of the mix by a value": values[1][0].grad,
    }


EXPERIMENTS = [shares, far_out, apart, below, mixed, wider, moved]
RIGHT = {  # worked out by hand: the keys fit with 0 and log 3, so the shares are 1/4 and 3/4
    "shares": {
        "share 1 of 1 : 2 : 5": 0.125,
        "share 2 of 1 : 2 : 5": 0.25,
        "share 3 of 1 : 2 : 5": 0.625,
    },
    "far_out": {"share of one of two scores of 1000": 0.5},
    "apart": {"share of 3000 before 0": 1.0, "share of 3000 after 0": 1.0},
    "below": {"share of one of two scores of -1000": 0.5},
    "mixed": {"mix, first number": 3.0, "mix, second number": 2.0},
    "wider": {"mix with nine to a key, first": 3.0},
    "moved": {  # p * (1 - p), and the share itself
        "slope of a share of 1/4 by its score": 0.1875,
        "slope of the mix by a value": 0.75,
    },
}
MISTAKES = {
    "not_shared": {"shares": {"share 1 of 1 : 2 : 5": 0.2, "share 3 of 1 : 2 : 5": 1.0}},
    "powers_only": {"shares": {"share 1 of 1 : 2 : 5": 1.0, "share 3 of 1 : 2 : 5": 5.0}},
    "no_powers": {"shares": {"share 1 of 1 : 2 : 5": 0.0}},
    "values_compared": {"shares": {"error": "TypeError"}},
    "math_exp": {"shares": {"error": "Value"}},
    "plain_numbers": {"shares": {"error": "AttributeError"}},
    "overflow": {"far_out": {"error": "OverflowError"}},
    "not_scaled": {"mixed": {"mix, first number": 3.6, "mix, second number": 0.8}},
    "scaled_by_size": {
        "mixed": {
            "mix, first number": 2.5358983848622456,
            "mix, second number": 2.9282032302755088,
        },
    },
    "keys_mixed": {"mixed": {"mix, first number": 1.6479184330021646, "mix, second number": 0.0}},
    "no_softmax": {"mixed": {"mix, first number": 4.394449154672439, "mix, second number": 0.0}},
    "numbers_only": {"moved": {"slope of a share of 1/4 by its score": 0.0}},
    "not_the_largest": {"apart": {"error": "OverflowError"}},
    "far_below": {"below": {"error": "ZeroDivisionError"}},
    "scaled_otherwise": {  # by 2, which is also how many keys there are
        "mixed": {"mix, first number": 3.0},
        "wider": {"mix with nine to a key, first": 3.35443808881436},
    },
}
