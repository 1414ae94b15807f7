CALL = "return sum((w * v for w, v in zip(self.w, x)), self.b).tanh()"
PARAMETERS = "return self.w + [self.b]"
RIGHT = [[CALL, PARAMETERS], [CALL, "yield from self.w\nyield self.b"]]
MISTAKES = {
    "nothing_returned": [["n = sum((w * v for w, v in zip(self.w, x)), self.b)", PARAMETERS]],
    "keeps_the_sum": [
        ["for w, v in zip(self.w, x):\n    self.b += w * v\nreturn self.b.tanh()", PARAMETERS]
    ],
    "no_bias": [["return sum(w * v for w, v in zip(self.w, x)).tanh()", PARAMETERS]],
    "no_tanh": [[CALL.replace(".tanh()", ""), PARAMETERS]],
    "bias_for_each": [["return sum(w * v + self.b for w, v in zip(self.w, x)).tanh()", PARAMETERS]],
    "numbers_only": [
        [
            "return Value(sum((w.data * v for w, v in zip(self.w, x)), self.b.data)).tanh()",
            PARAMETERS,
        ]
    ],
    "bias_not_learnt": [[CALL, "return self.w"]],
    "nested": [[CALL, "return [self.w, self.b]"]],
    "data_learnt": [[CALL, "return [p.data for p in self.w + [self.b]]"]],
    "a_plain_number": [
        [
            "n = sum(w.data * v for w, v in zip(self.w, x)) + self.b.data\nreturn math.tanh(n)",
            PARAMETERS,
        ]
    ],
    "math_tanh": [
        ["return math.tanh(sum((w * v for w, v in zip(self.w, x)), self.b))", PARAMETERS]
    ],
    "lists_multiplied": [["return (self.w * x + self.b).tanh()", PARAMETERS]],
    "only_the_last": [
        ["for w, v in zip(self.w, x):\n    n = self.b + w * v\nreturn n.tanh()", PARAMETERS]
    ],
    "only_the_first": [
        ["for w, v in zip(self.w, x):\n    n = self.b + w * v\n    return n.tanh()", PARAMETERS]
    ],
    "a_list_and_a_value": [[CALL, "return self.w + self.b"]],
    "grows": [[CALL, "self.w.append(self.b)\nreturn self.w"]],
    "two_inputs": [
        ["return (self.w[0] * x[0] + self.w[1] * x[1] + self.b).tanh()", PARAMETERS],
    ],
    "two_learnt": [[CALL, "return [self.w[0], self.w[1], self.b]"]],
    "otherwise": [[CALL.replace("tanh()", "tanh() * 2"), PARAMETERS]],
}
