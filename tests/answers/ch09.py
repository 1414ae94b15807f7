LOG = """
    out = Value(math.log(self.data), (self,), "log")

    def _backward():
        self.grad += 1 / self.data * out.grad

    out._backward = _backward
    return out
"""
SIGMOID = """
    s = 1 / (1 + math.exp(-self.data))
    out = Value(s, (self,), "sigmoid")

    def _backward():
        self.grad += s * (1 - s) * out.grad

    out._backward = _backward
    return out
"""
UNATTACHED = "    out._backward = _backward\n"
RIGHT = [[LOG, SIGMOID], [LOG, "return 1 / (1 + (-self).exp())"]]
MISTAKES = {
    "a_plain_number": [["return math.log(self.data)", SIGMOID]],
    "no_tuple": [[LOG.replace("(self,)", "(self)"), SIGMOID]],
    "base_two": [[LOG.replace("math.log(", "math.log2("), SIGMOID]],
    "base_ten": [[LOG.replace("math.log", "math.log10"), SIGMOID]],
    "sigmoid_turned": [[LOG, SIGMOID.replace("exp(-self.data)", "exp(self.data)")]],
    "not_attached": [[LOG.replace(UNATTACHED, ""), SIGMOID]],
    "sigmoid_not_attached": [[LOG, SIGMOID.replace(UNATTACHED, "")]],
    "no_child": [[LOG.replace("(self,)", "()"), SIGMOID]],
    "sigmoid_no_child": [[LOG, SIGMOID.replace("(self,)", "()")]],
    "over_the_result": [[LOG.replace("1 / self.data", "1 / out.data"), SIGMOID]],
    "no_out_grad": [[LOG.replace(" * out.grad", ""), SIGMOID]],
    "sigmoid_no_out_grad": [[LOG, SIGMOID.replace(" * out.grad", "")]],
    "sigmoid_itself": [[LOG, SIGMOID.replace(" * (1 - s)", "")]],
    "sigmoid_as_tanh": [[LOG, SIGMOID.replace("s * (1 - s)", "(1 - s**2)")]],
    "overwrites": [[LOG.replace("+=", "="), SIGMOID]],
    "sigmoid_overwrites": [[LOG, SIGMOID.replace("+=", "=")]],
    "sigmoid_of_x": [[LOG, SIGMOID.replace("s * (1 - s)", "self.data * (1 - self.data)")]],
    "otherwise": [[LOG, SIGMOID.replace("(1 - s)", "(1 + s)")]],
}
