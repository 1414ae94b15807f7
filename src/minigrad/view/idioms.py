"""Idioms: what is known by its structure, whoever wrote it and however it was spelled.

These are neuron, dot, mean, mse, softmax, logsumexp and cross_entropy. Each is found from its last
operation, on kinds that belong to one box, and becomes a box there.
Everything but the result must be used inside alone, or the box would not be the whole of it.

Start at `find_idioms`.
"""

from __future__ import annotations

import math

from ..core.graph import operands_of
from ..core.ops import OPS
from .boxes import Box, Tree
from .collapse import ADD, MUL

_ACTIVATIONS = {
    OPS[name].code for name in ("tanh", "relu", "sigmoid", "gelu", "silu", "softplus", "leaky_relu")
}
_SUM, _MEAN, _DOT = (OPS[name].code for name in ("sum", "mean", "dot"))
_SUB, _DIV, _POW = (OPS[name].code for name in ("sub", "div", "pow"))
_EXP, _LOG, _NEG = (OPS[name].code for name in ("exp", "log", "neg"))
FEW = 2  # products make a dot; so much else must be in a box for an idiom in it to be worth one


class _Finder:
    def __init__(self, tree: Tree) -> None:
        self.tree, self.kinds = tree, tree.kinds
        self.taken: set[int] = set()
        self.code = [
            -1 if node._is_custom else node._code
            for node in (results[0] for results in tree.kinds.results)
        ]

    def operands(self, k: int) -> list[int]:
        return [source for source, _ in self.kinds.operands[k]]

    def at(self, k: int, position: int) -> list[int]:
        """Return the kinds of an operand: several where points are not alike in what they use."""
        return [source for source, slot in self.kinds.operands[k] if slot == position]

    def number(self, k: int) -> float | None:
        """Return the number that a leaf is, the same for all of its kind."""
        numbers = {node.data for node in self.kinds.results[k]}
        return numbers.pop() if self.tree.is_leaf(k) and len(numbers) == 1 else None

    def only_user(self, k: int) -> int | None:
        users = self.tree.users[k]
        return users[0] if len(users) == 1 else None

    def sum_at(self, head: int) -> tuple[list[int], list[int]]:
        """Return the additions of the sum that ends here, and its terms."""
        additions, seen = [head], {head}
        terms = []
        home = self.tree.home[head]
        for k in additions:  # grows while it is read
            for operand in self.operands(k):
                goes_on = self.code[operand] == ADD and self.code[head] == ADD
                if goes_on and self.only_user(operand) == k and self.tree.home[operand] is home:
                    if operand not in seen:  # x + x is one addition below, and not two
                        additions.append(operand)
                        seen.add(operand)
                else:
                    terms.append(operand)
        return additions, terms

    def take(self, name: str, parts: list[int]) -> None:
        """Make the box, if the parts are free, of one box, and not all that is there."""
        parts = list(dict.fromkeys(k for k in parts if not self.tree.is_leaf(k)))
        home = self.tree.home[parts[-1]]
        if any(k in self.taken or self.tree.home[k] is not home for k in parts):
            return
        rest = sum(not self.tree.is_leaf(k) for k in home.kinds) - len(parts) + len(home.boxes)
        if home is not self.tree.root and rest < FEW:
            return  # the box has a name already
        self.taken.update(parts)
        self.tree.wrap(name, parts)

    # ---- one function for each idiom: it looks from the last operation ---------------------------

    def weighted_sum(self, head: int) -> list[int] | None:
        """Return the operations of w1*x1 + w2*x2 + … + b."""
        if self.code[head] == _DOT:
            return [head]
        if self.code[head] not in (ADD, _SUM):
            return None
        additions, terms = self.sum_at(head)
        products = [k for k in terms if self.code[k] == MUL and self.only_user(k) is not None]
        dots = [k for k in terms if self.code[k] == _DOT and self.only_user(k) is not None]
        number = sum(len(self.kinds.results[k]) for k in products) / len(self.kinds.results[head])
        if not ((number >= FEW and not dots) or (len(dots) == 1 and not products)):
            return None
        if any(not self.tree.is_leaf(k) for k in terms if k not in products and k not in dots):
            return None  # more than a bias is added
        return [*products, *dots, *reversed(additions)]

    def neuron(self, last: int) -> None:
        if self.code[last] in _ACTIVATIONS:
            (total, *_) = self.operands(last)
            found = self.weighted_sum(total)
            if found and self.only_user(total) == last:
                self.take("neuron", [*found, last])

    def dot(self, last: int) -> None:
        user = self.only_user(last)
        if self.code[last] != ADD or (user is not None and self.code[user] == ADD):
            return
        found = self.weighted_sum(last)
        if found:
            self.take("dot", found)

    def is_exponential(self, k: int) -> bool:
        """Whether it is exp(x), or e**x."""
        if self.code[k] != _POW or not (base := self.at(k, 0)):
            return self.code[k] == _EXP
        return self.number(base[0]) == math.e

    def exponentials(self, head: int) -> list[int] | None:
        """Return the operations of exp(x1) + exp(x2) + …, each perhaps of a difference."""
        if self.code[head] not in (ADD, _SUM):
            return None
        additions, terms = self.sum_at(head)
        powers = [k for k in terms if self.is_exponential(k)]
        rest = [k for k in terms if k not in powers]
        if not powers or any(not self.tree.is_leaf(k) for k in rest):
            return None
        shifts = [
            k
            for power in powers
            for k in self.operands(power)
            if self.code[k] == _SUB and self.only_user(k) == power
        ]
        return [*shifts, *powers, *reversed(additions)]

    def shares(self, head: int) -> list[int] | None:
        """Return the quotients x / head; or the inverse of the head, and the products with it."""
        users = self.tree.users[head]
        if users and all(self.code[k] == _DIV and self.at(k, 1) == [head] for k in users):
            if len(users) > 1 or not all(self.number(k) == 1.0 for k in self.at(users[0], 0)):
                return users
        elif len(users) != 1 or self._exponent(users[0]) != -1.0:
            return None
        inverse = users[0]
        products = self.tree.users[inverse]
        is_all = products and all(self.code[k] == MUL for k in products)
        return [inverse, *products] if is_all else None

    def softmax(self, head: int) -> None:
        found = self.exponentials(head)
        shares = self.shares(head) if found else None
        if not found or not shares:
            return
        outside = [u for k in found if self.is_exponential(k) for u in self.tree.users[k]]
        if all(u in shares or u in found for u in outside):
            self.take("softmax", [*found, *shares])

    def logsumexp(self, last: int) -> None:
        """The log of a sum of exponentials; if they were shifted, what was taken off is added."""
        if self.code[last] != _LOG:
            return
        (head,) = self.operands(last)
        found = self.exponentials(head)
        if not found or self.only_user(head) != last:
            return
        off = [m for k in found if self.code[k] == _SUB for m in self.at(k, 1)]
        user = self.only_user(last)
        if off and user is not None and self.code[user] == ADD:
            numbers = {self.number(m) for m in off} - {None}
            others = [k for k in self.operands(user) if k != last]
            if all(k in off or self.number(k) in numbers for k in others):
                found, last = [*found, last], user
        self.take("logsumexp", [*found, last])

    def cross_entropy(self, last: int) -> None:
        """-log of a share of a softmax, or a logsumexp less one of its operands."""
        if self.code[last] == _NEG or self._is_negated(last):
            worked = [k for k in self.operands(last) if not self.tree.is_leaf(k)]
            if len(worked) != 1 or self.only_user(worked[0]) != last:
                return
            (inner,) = worked
            (share, *more) = self.operands(inner)
            if self.code[inner] == _LOG and self.only_user(share) == inner and not more:
                self._wrap_loss("softmax", share, [inner, last])
            elif self.code[inner] == _SUB:
                self._logit_less(inner, 0, [inner, last])
        elif self.code[last] == _SUB:
            self._logit_less(last, 1, [last])

    def _logit_less(self, difference: int, logit: int, parts: list[int]) -> None:
        (total, *more) = self.at(difference, 1 - logit)
        box = self.tree.home[total]
        used = {k for inside in box.all_kinds() for k in self.operands(inside)}
        is_inside = used.issuperset(self.at(difference, logit))
        if is_inside and not more and self.only_user(total) == difference:
            self._wrap_loss("logsumexp", total, parts)

    def _wrap_loss(self, name: str, result: int, parts: list[int]) -> None:
        """Put a box and what follows it into another, if that is not all there is."""
        box = self.tree.home[result]
        around = box.parent
        if box.name != name or around is None or any(k in self.taken for k in parts):
            return
        if any(self.tree.home[k] is not around for k in parts):
            return
        rest = sum(not self.tree.is_leaf(k) for k in around.kinds) - len(parts)
        if rest + len(around.boxes) - 1 > 0:
            self.taken.update(parts)
            inside: list[Box | int] = [box, *parts]
            self.tree.wrap("cross_entropy", inside)

    def _is_negated(self, k: int) -> bool:
        return self.code[k] == MUL and any(self.number(x) == -1.0 for x in self.operands(k))

    def averaged(self, last: int) -> tuple[list[int], list[int], list[int]] | None:
        """Return the additions, the terms and the end of (x1 + x2 + …) / n, or of mean(…)."""
        if self.code[last] == _MEAN:
            return [], self.operands(last), [last]
        if self.code[last] not in (_DIV, MUL):
            return None
        factors = [k for k in self.operands(last) if self.tree.is_leaf(k)]
        sums = [k for k in self.operands(last) if self.code[k] in (ADD, _SUM)]
        if len(factors) != 1 or len(sums) != 1 or self.only_user(sums[0]) != last:
            return None
        additions, terms = self.sum_at(sums[0])
        terms = [k for k in terms if self.number(k) != 0.0]  # where sum() begins
        count = sum(len(self.kinds.results[k]) for k in terms) / len(self.kinds.results[sums[0]])
        by = {_DIV: count, MUL: 1 / count if count else 0.0}[self.code[last]]
        is_mean = self.number(factors[0]) == by and (
            self.code[last] == MUL or self.at(last, 0) == sums
        )
        return (additions, terms, [last]) if is_mean and count >= FEW else None

    def mean(self, last: int) -> None:
        found = self.averaged(last)
        if found and found[0]:  # `mean` itself is one operation
            additions, _, end = found
            self.take("mean", [*reversed(additions), *end])

    def mse(self, last: int) -> None:
        """The mean of (y - t)**2, spelled as a power or as a product."""
        found = self.averaged(last)
        if not found:
            return
        additions, terms, end = found
        differences = [self._squared(k) for k in terms]
        if terms and all(differences):
            inner = [k for each in differences for k in each]
            self.take("mse", [*inner, *terms, *reversed(additions), *end])

    def _squared(self, k: int) -> list[int]:
        """Return the difference that is squared, both if it was worked out twice; or nothing."""
        if self.code[k] == _POW and self._exponent(k) == 2.0:
            found = self.at(k, 0)
        elif self.code[k] == MUL:
            found = list(dict.fromkeys(self.operands(k)))
        else:
            return []
        is_square = all(self.code[d] == _SUB for d in found) and self._are_same(*found)
        return found if is_square else []

    def _are_same(self, first: int, *others: int) -> bool:
        """Whether kinds are made of the same Values, or of equal numbers."""
        nodes = [self.kinds.results[k] for k in (first, *others)]
        return all(
            x is y or (x.data == y.data and not x.label and not operands_of(x))
            for alike in zip(*nodes, strict=False)
            for other in alike[1:]
            for x, y in zip(alike[0]._operands, other._operands, strict=True)
        )

    def _exponent(self, power: int) -> float | None:
        """Return the exponent of x**n, which is a leaf or part of the operation."""
        if self.code[power] != _POW:
            return None
        numbers = {
            getattr(n, "data", n) for n in (x._arguments()[1] for x in self.kinds.results[power])
        }
        is_fixed = all(self.tree.is_leaf(k) for k in self.at(power, 1))
        return numbers.pop() if is_fixed and len(numbers) == 1 else None


def find_idioms(tree: Tree) -> None:
    """Make a box of each idiom; the larger ones are looked for first."""
    finder = _Finder(tree)
    operations = [k for k in range(len(tree.home)) if not tree.is_leaf(k)]
    for look in (
        finder.softmax,
        finder.logsumexp,
        finder.mse,
        finder.neuron,
        finder.dot,
        finder.mean,
    ):
        for k in operations:
            look(k)
    tree.settle()
    if any(box.name in ("softmax", "logsumexp") for box in tree.root.inside()):
        for k in operations:
            finder.cross_entropy(k)
        tree.settle()
