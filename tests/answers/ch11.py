SOFTMAX = """
    top = max(s.data for s in scores)
    powers = [(s - top).exp() for s in scores]
    total = sum(powers)
    return [p / total for p in powers]
"""
PLAIN = """
    powers = [s.exp() for s in scores]
    total = sum(powers)
    return [p / total for p in powers]
"""
ATTEND = """
    fits = [sum(q * k for q, k in zip(query, key)) / len(query) ** 0.5 for key in keys]
    shares = softmax(fits)
    return [sum(s * n for s, n in zip(shares, column)) for column in zip(*values)]
"""
RIGHT = [[SOFTMAX, ATTEND]]
MISTAKES = {
    "not_shared": [[SOFTMAX.replace("[p / total for p in powers]", "powers"), ATTEND]],
    "powers_only": [["return [s.exp() for s in scores]", ATTEND]],
    "no_powers": [["total = sum(scores)\nreturn [s / total for s in scores]", ATTEND]],
    "overflow": [[PLAIN, ATTEND]],
    "not_scaled": [[SOFTMAX, ATTEND.replace(" / len(query) ** 0.5", "")]],
    "scaled_by_size": [[SOFTMAX, ATTEND.replace(" ** 0.5", "")]],
    "keys_mixed": [[SOFTMAX, ATTEND.replace("zip(*values)", "zip(*keys)")]],
    "no_softmax": [[SOFTMAX, ATTEND.replace("softmax(fits)", "fits")]],
    "values_compared": [[SOFTMAX.replace("s.data for s in scores", "scores"), ATTEND]],
    "math_exp": [[PLAIN.replace("s.exp()", "math.exp(s)"), ATTEND]],
    "plain_numbers": [[PLAIN.replace("s.exp()", "math.exp(s.data)"), ATTEND]],
    "numbers_only": [[SOFTMAX.replace("(s - top).exp()", "Value(math.exp(s.data - top))"), ATTEND]],
    "not_the_largest": [
        [SOFTMAX.replace("max(s.data for s in scores)", "scores[0].data"), ATTEND],
        [SOFTMAX.replace("max(s.data", "min(s.data"), ATTEND],
        [SOFTMAX.replace("max(s.data for s in scores)", "sum(scores).data / len(scores)"), ATTEND],
    ],
    "far_below": [
        [
            SOFTMAX.replace("max(s.data for s in scores)", "max(0, *(s.data for s in scores))"),
            ATTEND,
        ]
    ],
    "scaled_otherwise": [
        [SOFTMAX, ATTEND.replace("len(query) ** 0.5", "2")],
        [SOFTMAX, ATTEND.replace("len(query) ** 0.5", "len(keys)")],
    ],
    "otherwise": [[SOFTMAX, ATTEND.replace("s * n", "s + n")]],
}
