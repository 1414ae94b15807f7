MUL = "self.grad = other.data * out.grad\nother.grad = self.data * out.grad"
TANH = "self.grad = (1 - t**2) * out.grad"
RIGHT = [
    [MUL, TANH],
    [MUL.replace(" = ", " += "), "self.grad += (1 - out.data * out.data) * out.grad"],
]
MISTAKES = {
    "no_out_grad": [[MUL.replace(" * out.grad", ""), TANH]],
    "own_number": [["self.grad = self.data * out.grad\nother.grad = other.data * out.grad", TANH]],
    "as_a_sum": [["self.grad = out.grad\nother.grad = out.grad", TANH]],
    "times_the_result": [
        ["self.grad = out.data * out.grad\nother.grad = out.data * out.grad", TANH]
    ],
    "out_data": [["self.grad = other.data * out.data\nother.grad = self.data * out.data", TANH]],
    "tanh_no_out_grad": [[MUL, "self.grad = 1 - t**2"]],
    "tanh_not_squared": [[MUL, "self.grad = (1 - t) * out.grad"]],
    "tanh_of_x": [[MUL, "self.grad = (1 - self.data**2) * out.grad"]],
    "tanh_sign": [[MUL, "self.grad = (t**2 - 1) * out.grad"]],
    "nothing_set": [
        ["grad = other.data * out.grad", TANH],
        ["self.grad = other.data * self.grad\nother.grad = self.data * other.grad", TANH],
    ],
    "other_forgotten": [["self.grad = other.data * out.grad", TANH]],
    "tanh_brackets": [[MUL, "self.grad = 1 - t**2 * out.grad"]],
    "divides": [
        [
            "self.grad = out.data / self.data * out.grad\n"
            "other.grad = out.data / other.data * out.grad",
            TANH,
        ]
    ],
    "otherwise": [[MUL, "self.grad = t * out.grad"]],
}
