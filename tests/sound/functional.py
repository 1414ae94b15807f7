"""A sound engine with functions instead of operators: add(a, b), tanh(a), backward(out)."""

import math


class Node:
    def __init__(self, data, inputs=(), slopes=()):
        self.data = data
        self.grad = 0.0
        self.inputs = inputs
        self.slopes = slopes


def add(a, b):
    return Node(a.data + b.data, (a, b), (1.0, 1.0))


def sub(a, b):
    return Node(a.data - b.data, (a, b), (1.0, -1.0))


def mul(a, b):
    return Node(a.data * b.data, (a, b), (b.data, a.data))


def tanh(a):
    t = math.tanh(a.data)
    return Node(t, (a,), (1.0 - t * t,))


def exp(a):
    e = math.exp(a.data)
    return Node(e, (a,), (e,))


def backward(out):
    order, seen = [], set()

    def visit(node):
        if id(node) not in seen:
            seen.add(id(node))
            for x in node.inputs:
                visit(x)
            order.append(node)

    visit(out)
    out.grad = 1.0
    for node in reversed(order):
        for x, slope in zip(node.inputs, node.slopes, strict=True):
            x.grad += slope * node.grad
