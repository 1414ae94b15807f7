"""Optimisers as a user writes them, in a few lines each; tests compare them with PyTorch's."""

from __future__ import annotations

from minigrad.optim import Optimizer


class RMSprop(Optimizer):
    state_names = ("square", "velocity")

    def __init__(self, parameters, lr=0.01, *, alpha=0.99, eps=1e-8, momentum=0.0):
        super().__init__(parameters, lr)
        self.alpha, self.eps, self.momentum = alpha, eps, momentum

    @staticmethod
    def rule(m, x, g, square, velocity, lr, alpha, eps, momentum):
        square = alpha * square + (1 - alpha) * g * g
        velocity = momentum * velocity + g / (m.sqrt(square) + eps)
        return x - lr * velocity, square, velocity

    def settings(self, lr):
        return lr, self.alpha, self.eps, self.momentum


class Adagrad(Optimizer):
    state_names = ("total",)

    @staticmethod
    def rule(m, x, g, total, lr):
        total = total + g * g
        return x - lr * g / (m.sqrt(total) + 1e-10), total


class Adamax(Optimizer):
    state_names = ("first", "largest")

    @staticmethod
    def rule(m, x, g, first, largest, lr):
        first = 0.9 * first + (1 - 0.9) * g
        largest = m.maximum(0.999 * largest, abs(g) + 1e-8)
        return x - lr * first / largest, first, largest

    def settings(self, lr):
        return (lr / (1 - 0.9 ** (self.steps + 1)),)


class Lion(Optimizer):
    """Moves by the sign of an average; its state, another average, is of the plain gradients."""

    state_names = ("average",)

    @staticmethod
    def rule(m, x, g, average, lr):
        towards = 0.9 * average + 0.1 * g
        sign = m.where(towards > 0, 1.0, m.where(towards < 0, -1.0, 0.0))
        return x - lr * sign, 0.99 * average + 0.01 * g


class Bounded(Optimizer):
    """Functions whose last digits depend on who computes them, and a swap of two states."""

    state_names = ("one", "other")

    @staticmethod
    def rule(m, x, g, one, other, lr):
        return x - lr * m.tanh(g + m.exp(-(other**2))), other, one + g
