CALL = "return sum((w * v for w, v in zip(self.w, x)), self.b).tanh()"
PARAMETERS = "return self.w + [self.b]"
RIGHT = [[CALL, PARAMETERS]]
MISTAKES = {
    "nothing_returned": [["n = sum((w * v for w, v in zip(self.w, x)), self.b)", PARAMETERS]],
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
    "otherwise": [[CALL.replace("tanh()", "tanh() * 2"), PARAMETERS]],
}
