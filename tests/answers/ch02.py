WRAP = "other = other if isinstance(other, Value) else Value(other)\n"
RIGHT = [
    [WRAP + "return Value(self.data * other.data, (self, other))"],
    [WRAP + "out = Value(self.data * other.data, [self, other])\nreturn out"],
]
MISTAKES = {
    "a_plain_number": [[WRAP + "return self.data * other.data"]],
    "adds": [[WRAP + "return Value(self.data + other.data, (self, other))"]],
    "forgets": [[WRAP + "return Value(self.data * other.data)"]],
    "one_child": [
        [WRAP + "return Value(self.data * other.data, (self,))"],
        [WRAP + "return Value(self.data * other.data, {self, other})"],
        [WRAP + "out = Value(self.data * other.data)\nout._prev = {self, other}\nreturn out"],
    ],
    "numbers_not_wrapped": [["return Value(self.data * other.data, (self, other))"]],
    "keeps_numbers": [
        [WRAP + "return Value(self.data * other.data, (self.data, other.data))"],
        [WRAP + "return Value(self.data * other.data, (Value(self.data), Value(other.data)))"],
        [WRAP + "return Value(self.data * other.data, (other, self))"],
    ],
    "calls_itself": [
        [WRAP + "return Value(self.data * other, (self, other))"],
    ],
    "children_apart": [
        [WRAP + "return Value(self.data * other.data, self, other)"],
        [WRAP + "return Value(self.data * other.data, self)"],
    ],
    "otherwise": [[WRAP + "return Value(-self.data * other.data, (self, other))"]],
}
