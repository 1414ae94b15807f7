"""Neurons, layers, networks: the tenth chapter's own part."""

import random


class Neuron:
    """Weights, a bias and tanh."""

    def __init__(self, inputs, rng):
        self.w = [Value(rng.uniform(-1, 1)) for _ in range(inputs)]  # noqa: F821
        self.b = Value(0.0)  # noqa: F821

    def __call__(self, x):
        n = self.b
        for wi, xi in zip(self.w, x):
            n = n + wi * xi
        return n.tanh()

    def parameters(self):
        return [*self.w, self.b]


class Layer:
    """Several neurons that look at the same inputs."""

    def __init__(self, inputs, outputs, rng):
        self.neurons = [Neuron(inputs, rng) for _ in range(outputs)]

    def __call__(self, x):
        return [neuron(x) for neuron in self.neurons]

    def parameters(self):
        return [p for neuron in self.neurons for p in neuron.parameters()]


class MLP:
    """Layers, one after the other."""

    def __init__(self, inputs, sizes, seed=0):
        rng = random.Random(seed)
        self.layers = [Layer(i, o, rng) for i, o in zip([inputs, *sizes], sizes)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x[0] if len(x) == 1 else x

    def parameters(self):
        return [p for layer in self.layers for p in layer.parameters()]
