HERE = "        # your turn\n        self.grad = 1.0\n"
LOOP = "        # your turn\n        loss.backward()\n"
CLEAR = "        for v in topo:\n            if v._prev:\n                v.grad = 0.0\n"
ZERO = "        for p in parameters:\n            p.grad = 0.0\n"
CLEARED = (HERE, CLEAR + "        self.grad = 1.0\n")
ZEROED = (LOOP, ZERO + "        loss.backward()\n")
RUN = "            node._backward()\n"
ALL = "        for v in topo:\n            v.grad = 0.0\n"
AFTER_THE_STEP = (
    "            p.data -= rate * p.grad",
    "            p.data -= rate * p.grad\n            p.grad = 0.0",
)
RIGHT = [[CLEARED, ZEROED], [CLEARED, AFTER_THE_STEP]]
MISTAKES = {
    "not_begun": [[]],
    "leaves_cleared": [
        [
            (HERE, "        for v in topo:\n            v.grad = 0.0\n        self.grad = 1.0\n"),
            ZEROED,
        ]
    ],
    "stale": [[ZEROED]],
    "too_late": [
        [(RUN, RUN + ALL), ZEROED],
        [(HERE, "        self.grad = 1.0\n" + CLEAR), ZEROED],
    ],
    "cleared_after_the_pass": [
        [("            node._backward()\n", "            node._backward()\n" + CLEAR), ZEROED]
    ],
    "data_cleared": [[CLEARED, (LOOP, ZERO.replace("grad", "data") + "        loss.backward()\n")]],
    "zeroed_too_late": [[CLEARED, (LOOP, "        loss.backward()\n" + ZERO)]],
    "zeroed_once": [
        [
            CLEARED,
            (
                "    for _ in range(steps):\n",
                "    for p in parameters:\n        p.grad = 0.0\n    for _ in range(steps):\n",
            ),
        ]
    ],
    "never_zeroed": [[CLEARED]],
    "one_parameter": [
        [CLEARED, (LOOP, "        parameters[0].grad = 0.0\n        loss.backward()\n")]
    ],
    "only_children": [
        [
            (
                HERE,
                "        for v in self._prev:\n            v.grad = 0.0\n        self.grad = 1.0\n",
            ),
            ZEROED,
        ]
    ],
    "leaves_instead": [[(HERE, CLEARED[1].replace("if v", "if not v")), ZEROED]],
    "no_such_method": [
        [CLEARED, (LOOP, "        loss.zero_grad()\n        loss.backward()\n")],
        [CLEARED, (LOOP, "        parameters.grad = 0.0\n        loss.backward()\n")],
    ],
    "otherwise": [[CLEARED, ZEROED, ("p.data -= rate", "p.data += rate")]],
}
