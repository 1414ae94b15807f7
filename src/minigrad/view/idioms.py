"""Idioms: what is known by its structure, whoever wrote it: neuron, dot, softmax, logsumexp, mse.

Each is found from its last operation, on kinds that belong to one box, and becomes a box there.
Everything but the result must be used inside alone, or the box would not be the whole of it.

Start at `find_idioms`.
"""

from __future__ import annotations

from ..core.ops import OPS
from .boxes import Tree
from .collapse import ADD, MUL

_ACTIVATIONS = {
    OPS[name].code for name in ("tanh", "relu", "sigmoid", "gelu", "silu", "softplus", "leaky_relu")
}
_SUM, _MEAN, _DOT = (OPS[name].code for name in ("sum", "mean", "dot"))
_SUB, _DIV, _POW = (OPS[name].code for name in ("sub", "div", "pow"))
_EXP, _LOG = OPS["exp"].code, OPS["log"].code
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

    def only_user(self, k: int) -> int | None:
        users = self.tree.users[k]
        return users[0] if len(users) == 1 else None

    def sum_at(self, head: int) -> tuple[list[int], list[int]]:
        """Return the additions of the sum that ends here, and its terms."""
        additions, terms = [head], []
        home = self.tree.home[head]
        for k in additions:  # grows while it is read
            for operand in self.operands(k):
                goes_on = self.code[operand] == ADD and self.code[head] == ADD
                if goes_on and self.only_user(operand) == k and self.tree.home[operand] is home:
                    additions.append(operand)
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

    def exponentials(self, head: int) -> list[int] | None:
        """Return the operations of exp(x1) + exp(x2) + …, each perhaps of a difference."""
        if self.code[head] not in (ADD, _SUM):
            return None
        additions, terms = self.sum_at(head)
        powers = [k for k in terms if self.code[k] == _EXP]
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

    def softmax(self, head: int) -> None:
        found = self.exponentials(head)
        if not found:
            return
        shares = self.tree.users[head]
        if shares and all(self.code[k] == _DIV and self.operands(k)[-1] == head for k in shares):
            outside = [u for k in found if self.code[k] == _EXP for u in self.tree.users[k]]
            if all(u in shares or u in found for u in outside):
                self.take("softmax", [*found, *shares])

    def logsumexp(self, last: int) -> None:
        if self.code[last] == _LOG:
            (head,) = self.operands(last)
            found = self.exponentials(head)
            if found and self.only_user(head) == last:
                self.take("logsumexp", [*found, last])

    def mse(self, last: int) -> None:
        """The mean of (y - t)**2; the sum is a mean if it is divided by the number of terms."""
        total, end, factor = last, [last], None
        if self.code[last] in (_DIV, MUL):
            total = self.operands(last)[0]
            factor = next((k for k in self.operands(last) if self.tree.is_leaf(k)), None)
            if factor is None or self.code[total] not in (ADD, _SUM):
                return
            end = [total, last]
        elif self.code[last] != _MEAN:
            return
        additions, terms = self.sum_at(total)
        squares = [k for k in terms if self.code[k] in (_POW, MUL)]
        if len(squares) != 1 or any(not self.tree.is_leaf(k) for k in terms if k not in squares):
            return
        (square,) = squares
        number = len(self.kinds.results[square])
        if factor is not None:
            by = self.kinds.results[factor][0].data
            if by not in ((number,) if self.code[last] == _DIV else (1 / number,)):
                return
        difference = self.operands(square)[0]
        is_square = set(self.operands(square)) == {difference} or self._is_two(square)
        if is_square and self.code[difference] == _SUB:
            self.take("mse", [difference, square, *reversed(additions), *end])

    def _is_two(self, power: int) -> bool:
        """Whether it is x**2, the exponent being a leaf or part of the operation."""
        node = self.kinds.results[power][0]
        exponents = [k for k in self.operands(power)[1:] if self.tree.is_leaf(k)]
        return self.code[power] == _POW and (
            node._op == "**2" or any(self.kinds.results[k][0].data == 2 for k in exponents)
        )


def find_idioms(tree: Tree) -> None:
    """Make a box of each idiom; the larger ones are looked for first."""
    finder = _Finder(tree)
    operations = [k for k in range(len(tree.home)) if not tree.is_leaf(k)]
    for look in (finder.softmax, finder.logsumexp, finder.mse, finder.neuron, finder.dot):
        for k in operations:
            look(k)
    tree.settle()
