SELF, OTHER = ("self.grad = ", "self.grad += "), ("other.grad = ", "other.grad += ")
SEED = ("self.grad += 1.0", "self.grad = 1.0")
INIT = ("self.grad += 0.0", "self.grad = 0.0")
SUM = (
    "self.grad = out.grad\n            other.grad = out.grad",
    "self.grad += out.grad\n            other.grad += out.grad",
)
PRODUCT = (
    "self.grad = other.data * out.grad\n            other.grad = self.data * out.grad",
    "self.grad += other.data * out.grad\n            other.grad += self.data * out.grad",
)
TANH = ("self.grad += (1 - t**2)", "self.grad = (1 - t**2)")
RIGHT = [[SELF, OTHER, INIT, SEED], [SELF, OTHER, INIT]]
MISTAKES = {
    "too_much": [[SELF, OTHER]],
    "overwrite": [[], [("self.grad = (1", "self.grad += (1")]],
    "other_forgotten": [[SELF, INIT, SEED]],
    "self_forgotten": [[OTHER]],
    "products_forgotten": [[SUM]],
    "sums_forgotten": [[PRODUCT]],
    "one_operand_left": [[SUM, PRODUCT], [SELF, OTHER, INIT, SEED, TANH]],
    "otherwise": [[SELF, OTHER, INIT, SEED, ("(out.data > 0)", "(out.data < 0)")]],
}
