"""Chapter 10: a neuron with weights that we know, and what a network has to learn."""

import random

from engine import MLP, Neuron, Value


def output():
    """A neuron with weights 1/2 and -1 and bias 1/4, on (2, 1) and on (4, 1)."""
    made = Neuron(2, random.Random(1))
    made.w, made.b = [Value(0.5), Value(-1.0)], Value(0.25)
    far, near = made([4.0, 1.0]), made([2.0, 1.0])  # one after the other: nothing may be kept
    return {"output on (2, 1)": near.data, "output on (4, 1)": far.data}


def three():
    """A neuron with three inputs: weights 1/2, -1 and 2, bias 1/4, on (2, 1, -1/2)."""
    made = Neuron(3, random.Random(1))
    made.w, made.b = [Value(0.5), Value(-1.0), Value(2.0)], Value(0.25)
    return {"output on (2, 1, -1/2)": made([2.0, 1.0, -0.5]).data}


def gradients():
    """How the output moves with the bias and with the second weight, on (2, 1)."""
    made = Neuron(2, random.Random(1))
    made.w, made.b = [Value(0.5), Value(-1.0)], Value(0.25)
    made([2.0, 1.0]).backward()
    return {"b.grad": made.b.grad, "w[0].grad": made.w[0].grad}


def counted():
    """How many numbers there are to learn, and whether they are Values."""
    made = Neuron(2, random.Random(1))
    made.parameters()
    mine = list(made.parameters())  # asked again, the same
    whole = MLP(2, [3, 1]).parameters()
    return {
        "parameters of Neuron(2)": len(mine),
        "Values among them": sum(isinstance(p, Value) for p in mine),
        "parameters of MLP(2, [3, 1])": len(whole),
    }


EXPERIMENTS = [output, three, gradients, counted]
RIGHT = {  # tanh(1/4), tanh(5/4), tanh(-3/4), and 1 - tanh(1/4)**2, by mpmath
    "output": {"output on (2, 1)": 0.24491866240370913, "output on (4, 1)": 0.8482836399575129},
    "three": {"output on (2, 1, -1/2)": -0.635148952387287},
    "gradients": {"b.grad": 0.940014848806378, "w[0].grad": 1.880029697612756},
    "counted": {
        "parameters of Neuron(2)": 3.0,
        "Values among them": 3.0,
        "parameters of MLP(2, [3, 1])": 13.0,
    },
}
MISTAKES = {
    "nothing_returned": {"output": {"error": "None"}},
    "a_plain_number": {"output": {"error": "AttributeError"}},
    "math_tanh": {"output": {"error": "Value"}},
    "lists_multiplied": {"output": {"error": "TypeError"}},
    "keeps_the_sum": {
        "output": {
            "output on (2, 1)": 0.8482836399575129,
            "output on (4, 1)": 0.8482836399575129,
        },
    },
    "no_bias": {"output": {"output on (2, 1)": 0.0}},
    "no_tanh": {"output": {"output on (2, 1)": 0.25, "output on (4, 1)": 1.25}},
    "bias_for_each": {"output": {"output on (2, 1)": 0.46211715726000973}},
    "only_the_last": {"output": {"output on (2, 1)": -0.6351489523872873}},
    "only_the_first": {"output": {"output on (2, 1)": 0.8482836399575129}},
    "numbers_only": {"gradients": {"b.grad": 0.0}},
    "a_list_and_a_value": {"counted": {"error": "TypeError"}},
    "grows": {"counted": {"parameters of Neuron(2)": 4.0}},
    "bias_not_learnt": {"counted": {"parameters of Neuron(2)": 2.0, "Values among them": 2.0}},
    "nested": {"counted": {"parameters of Neuron(2)": 2.0, "Values among them": 1.0}},
    "data_learnt": {"counted": {"parameters of Neuron(2)": 3.0, "Values among them": 0.0}},
    "two_inputs": {"three": {"output on (2, 1, -1/2)": 0.24491866240370913}},
    "two_learnt": {
        "counted": {"parameters of Neuron(2)": 3.0, "parameters of MLP(2, [3, 1])": 12.0}
    },
}
