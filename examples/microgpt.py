"""A GPT of single numbers: read thousands of names, then invent new ones.

A whole language model, in the manner of Andrej Karpathy's lesson. Read it from top to bottom: some
text, a model, a loss, a loop, compiled as one; `--eager` is the same, one operation at a time.
"""

import random
from itertools import pairwise

from helper import command_line, eager_step, training_bar

import minigrad
from minigrad import Value, logsumexp, nn, optim, softmax, take


class Alphabet:
    """Characters as numbers: 0, 1, 2, … for those of the text, and one more for its edges."""

    def __init__(self, names):
        self.characters = sorted(set("".join(names)))
        self.edge = len(self.characters)  # stands before the first character and after the last

    def tokens(self, name):
        return [self.edge, *map(self.characters.index, name), self.edge]


def linear(matrix, x):
    """Multiply a matrix by a vector: row after row, product after product."""
    return [sum(w * xi for w, xi in zip(row, x, strict=True)) for row in matrix]


def add(x, y):
    """Add two vectors, number by number."""
    return [a + b for a, b in zip(x, y, strict=True)]


def normalise(x):
    """Scale to a mean square of 1, so that numbers neither grow nor fade from layer to layer."""
    scale = (sum(xi * xi for xi in x) / len(x) + 1e-5) ** -0.5
    return [xi * scale for xi in x]


class GPT(nn.Module):  # which finds the parameters in the attributes
    """A transformer: what token comes next, given those so far?"""

    def __init__(self, vocabulary, layers, width, heads, block, seed):
        rng = random.Random(seed)

        def matrix(rows, columns):
            return [[Value(rng.gauss(0.0, 0.08)) for _ in range(columns)] for _ in range(rows)]

        self.heads, self.block = heads, block
        self.tokens = matrix(vocabulary, width)  # what a token means, wherever it stands
        self.positions = matrix(block, width)  # what a place means, whatever stands there
        shapes = dict.fromkeys(("query", "key", "value", "mix"), (width, width))
        shapes |= {"up": (4 * width, width), "down": (width, 4 * width)}
        self.layers = [{name: matrix(*shapes[name]) for name in shapes} for _ in range(layers)]
        self.scores = matrix(vocabulary, width)

    def read(self, token, memory):
        """Take in one more token; return a score for each that may follow."""
        # `take` is tokens[token], said so that the compiler knows: it differs from call to call.
        x = normalise(add(take(self.tokens, token), self.positions[len(memory[0][0])]))
        for layer, (keys, values) in zip(self.layers, memory, strict=True):
            seen = normalise(x)
            keys.append(linear(layer["key"], seen))
            values.append(linear(layer["value"], seen))
            found = self.attend(linear(layer["query"], seen), keys, values)
            x = add(x, linear(layer["mix"], found))
            x = add(x, linear(layer["down"], [h.relu() for h in linear(layer["up"], normalise(x))]))
        return linear(self.scores, x)

    def attend(self, query, keys, values):
        """Collect the values of earlier tokens, most from those whose keys fit the query best."""
        size, found = len(query) // self.heads, []
        for head in range(self.heads):  # each looks at its own slice of the numbers
            part = slice(head * size, (head + 1) * size)
            fits = linear([key[part] for key in keys], query[part])
            shares = softmax([fit / size**0.5 for fit in fits])
            found += linear(zip(*(value[part] for value in values), strict=True), shares)
        return found

    def loss(self, tokens):
        """Return how surprising each token was, -log(softmax(scores)[token]), on average."""
        memory, total = [([], []) for _ in self.layers], 0.0  # keys and values of tokens so far
        for token, following in pairwise(tokens[: self.block + 1]):
            scores = self.read(token, memory)
            total += logsumexp(scores) - take(scores, following)
        return total / len(memory[0][0])


def invent(model, alphabet, temperature, rng):
    """Start at the edge, draw what may follow, and go on from there to the next edge."""
    memory, token, name = [([], []) for _ in model.layers], alphabet.edge, ""
    with minigrad.no_grad():
        while len(name) < model.block:
            shares = softmax([score / temperature for score in model.read(token, memory)])
            (token,) = rng.choices(range(alphabet.edge + 1), [share.data for share in shares])
            if token == alphabet.edge:
                break
            name += alphabet.characters[token]
    return name


def main(names, steps, eager, seed, samples, temperature, **shape):
    """Learn from one name at a time, then invent some. helper.py tells what the options are."""
    alphabet = Alphabet(names)
    model = GPT(alphabet.edge + 1, **shape, seed=seed)
    optimizer = optim.Adam(model.parameters(), optim.linear(0.01, 0.0, steps), betas=(0.85, 0.99))
    # Loss, gradients and optimiser in one call: compiled, or written out for comparison.
    step = (eager_step if eager else minigrad.train_step)(model.loss, optimizer)
    with training_bar(steps) as show:
        losses = [show(step(alphabet.tokens(names[k % len(names)]))) for k in range(steps)]
    rng = random.Random(seed)
    return model, losses, [invent(model, alphabet, temperature, rng) for _ in range(samples)]


if __name__ == "__main__":
    command_line(main)
