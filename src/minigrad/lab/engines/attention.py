"""The heart of a GPT: the eleventh chapter's own part."""


def softmax(scores):
    """Turn scores into shares: positive, and 1 in all."""
    largest = max(score.data for score in scores)
    powers = [(score - largest).exp() for score in scores]
    total = sum(powers)
    return [power / total for power in powers]


def attend(query, keys, values):
    """Mix the values: most of those whose keys fit the query best."""
    size = len(query)
    fits = [sum(q * k for q, k in zip(query, key)) / size**0.5 for key in keys]
    shares = softmax(fits)
    return [sum(s * v[i] for s, v in zip(shares, values)) for i in range(len(values[0]))]
