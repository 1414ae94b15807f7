"""Steps: what repeats in depth, each inside the next, as in a recurrent network or a long chain.

Often there is one value between two steps through which everything goes: h1, h2, h3. These values
are the ones that the way from the result to the deepest operation cannot avoid (its dominators).
Along them the operations repeat with a period, and each period is a step.

Where several values go from step to step, as h and c of an LSTM or the vector h of a network, there
is no such value. But if each part stands in a layer, as in a drawing, what the layers hold repeats
with a period, and so many layers are a step. Edges lead from layer to layer, so that steps cut from
them have no cycles.

Very many steps are put into boxes of boxes, so that no box holds more than one can look at.

Start at `find_steps`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from ..core.codes import MUL
from .boxes import Box, Part, Tree
from .collapse import SUMS
from .layout.ranks import assign

LEAST = 4  # steps; fewer are drawn as they are
ROW = 32  # steps that stand in one box


def find_steps(tree: Tree) -> None:
    """Make boxes of the steps in the outermost box and in each scope, if there are any."""
    scopes = [box for box in tree.root.inside() if box is tree.root or box.is_scope]
    # Inner ones first: what is put into a box is listed there only when all is settled.
    found = [_find_in(tree, box) for box in reversed(scopes)]
    if any(found):
        tree.settle()


def _find_in(tree: Tree, around: Box) -> bool:
    """Make boxes of the steps in one box; tell whether there are any."""
    if len(around.kinds) + len(around.boxes) < LEAST * 2:
        return False
    parts = tree.in_order(around)
    number = {_key(part): n for n, part in enumerate(parts)}
    part_in = tree.parts_by_kind(around)
    operands: list[list[int]] = []
    for n, part in enumerate(parts):
        found = {
            number[_key(source)]: None
            for k in (part.all_kinds() if isinstance(part, Box) else [part])
            for s, _ in tree.kinds.operands[k]
            if (source := part_in(s)) is not None
        }
        operands.append([m for m in found if m != n])
    looks = [_look(tree, part, found) for part, found in zip(parts, operands, strict=True)]
    results = sorted(set(range(len(parts))).difference(*operands))
    joined = operands if len(results) == 1 else [*operands, results]  # a result of all results
    parent = _dominators(joined)
    spine = [n for n in _spine(joined, parent) if n < len(parts)]
    start, period, times = _longest_period([looks[n] for n in spine])
    if times < LEAST:
        return _cut_layers(tree, parts, operands, looks)
    heads = [spine[start + period * k] for k in range(times)]
    if period == 1 and _is_sum(tree, parts, operands, heads):
        return False
    rest = spine[start + period * times :]
    contents, before = _hanging(parts, parent, heads, rest[0] if rest else None)
    _box_steps(tree, contents)
    if len(rest) <= 2 * period:
        _start(tree, before)
    return True


def _is_sum(tree: Tree, parts: list[Part], operands: list[list[int]], heads: list[int]) -> bool:
    """Whether terms are added, or multiplied, that are computed one beside the other, as a neuron
    does: nothing but the next sum uses a sum, and that is no recurrence.
    """
    head = parts[heads[0]]
    if isinstance(head, Box) or tree.kinds.results[head][0]._code not in (*SUMS, MUL):
        return False
    sums = set(heads)
    terms = {m for n in heads for m in operands[n]} - sums
    others = (n for n in range(heads[0]) if n not in sums)
    return any(operands[m] for m in terms) and sums.isdisjoint(
        m for n in others for m in operands[n]
    )


def _cut_layers(
    tree: Tree, parts: list[Part], operands: list[list[int]], look_of: list[Hashable]
) -> bool:
    """Make a step of so many layers as the period is of what they hold, if there is one."""
    edges = [(m, n) for n, found in enumerate(operands) for m in found if operands[m]]
    worked = [n for n, found in enumerate(operands) if found]
    place = {n: k for k, n in enumerate(worked)}
    layer_of = assign(len(worked), [(place[m], place[n]) for m, n in edges])
    layers: list[list[int]] = [[] for _ in range(max(layer_of, default=-1) + 1)]
    for n, layer in zip(worked, layer_of, strict=True):
        layers[layer].append(n)
    looks: list[Hashable] = [
        frozenset(Counter(look_of[n] for n in layer).items()) for layer in reversed(layers)
    ]
    start, period, times = _longest_period(looks)
    if times < LEAST or times * period * 2 < len(layers):
        return False  # something in it repeats, and it is not what it is
    end = len(layers) - start
    contents = [
        [parts[n] for layer in layers[end - period * (k + 1) : end - period * k] for n in layer]
        for k in range(times)
    ]
    if any(not isinstance(content[0], Box) for content in contents if len(content) == 1):
        return False
    _box_steps(tree, contents)
    if end - period * times <= 2 * period:
        _start(tree, [parts[n] for layer in layers[: end - period * times] for n in layer])
    return True


def _key(part: Part) -> int:
    return part if isinstance(part, int) else -id(part)


def _dominators(operands: list[list[int]]) -> list[int]:
    """Return for each part the nearest one that all ways from it to the result go through.

    Parts are in topological order, the result last; it is its own. Ancestors are found by leaps
    whose lengths grow with the depth, so that a chain does not cost quadratic time.
    """
    count = len(operands)
    root = count - 1
    parent, depth, leap = [-1] * count, [0] * count, [root] * count
    parent[root] = root

    def common(a: int, b: int) -> int:
        while depth[a] != depth[b]:
            if depth[a] < depth[b]:
                a, b = b, a
            a = leap[a] if depth[leap[a]] >= depth[b] else parent[a]
        while a != b:
            a, b = (leap[a], leap[b]) if leap[a] != leap[b] else (parent[a], parent[b])
        return a

    users: list[list[int]] = [[] for _ in operands]
    for n in range(count):
        for m in operands[n]:
            users[m].append(n)
    for n in range(root - 1, -1, -1):
        known = [u for u in users[n] if parent[u] >= 0]
        if not known:
            continue
        found = known[0]
        for user in known[1:]:
            found = common(found, user)
        parent[n], depth[n] = found, depth[found] + 1
        far = leap[found]
        is_even = depth[found] - depth[far] == depth[far] - depth[leap[far]]
        leap[n] = leap[far] if is_even else found
    return parent


def _spine(operands: list[list[int]], parent: list[int]) -> list[int]:
    """Return the dominators of the deepest operation, from the result down."""
    height = [0] * len(operands)
    for n, found in enumerate(operands):
        height[n] = 1 + max((height[m] for m in found), default=0)
    n = len(operands) - 1  # down the longest way to an operation without operations below
    while any(operands[m] for m in operands[n]):
        n = max((m for m in operands[n] if operands[m]), key=height.__getitem__)
    spine = [n]
    while parent[spine[-1]] != spine[-1]:
        spine.append(parent[spine[-1]])
    return spine[::-1]


def _look(tree: Tree, part: Part, operands: list[int]) -> Hashable:
    if isinstance(part, Box):
        operations = [k for k in part.all_kinds() if not tree.is_leaf(k)]
        return part.name, sum(len(tree.kinds.members[k]) for k in operations)
    first = tree.kinds.results[part][0]
    return first._code, first._op, len(operands), bool(first.label)


def _longest_period(looks: list[Hashable]) -> tuple[int, int, int]:
    """Return where a repetition begins, its period and how often: the most that is covered.

    It may begin after a few parts of its own, as a loss has. Each beginning costs linear time.
    """
    best = (0, 1, 1)
    for start in range(min(12, len(looks))):
        rest = looks[start:]
        fail = _borders(rest)
        for length in range(len(rest), max(0, len(rest) - 12), -1):  # it may end before the end
            period = length - fail[length]
            times = length // period
            if times >= LEAST and times * period > best[1] * best[2]:
                best = (start, period, times)
    return best


def _borders(looks: list[Hashable]) -> list[int]:
    """Return for each beginning of the list its longest border (Knuth, Morris and Pratt)."""
    fail = [0] * (len(looks) + 1)
    border = 0
    for k in range(1, len(looks)):
        while border and looks[k] != looks[border]:
            border = fail[border]
        border += looks[k] == looks[border]
        fail[k + 1] = border
    return fail


def _hanging(
    parts: list[Part], parent: list[int], heads: list[int], beyond: int | None
) -> tuple[list[list[Part]], list[Part]]:
    """Return what hangs on each head, and on nothing further down; and what is beyond them."""
    ends = heads if beyond is None else [*heads, beyond]
    step_of = {head: k for k, head in enumerate(ends)}
    contents: list[list[Part]] = [[] for _ in [*heads, None]]
    number: list[int] = [-1] * len(parent)
    for n in range(len(parts) - 1, -1, -1):
        if n in step_of:
            number[n] = step_of[n]
        elif parent[n] >= 0 and parent[n] != n:
            number[n] = number[parent[n]]
        if number[n] >= 0:
            contents[number[n]].append(parts[n])
    *steps, before = [content[::-1] for content in contents]
    return steps, before


def _start(tree: Tree, before: list[Part]) -> None:
    """Make a step of what comes before the first one: often that is one that begins with numbers,
    and so not quite like the others.
    """
    if any(isinstance(part, Box) or not tree.is_leaf(part) for part in before):
        _step(tree, "start", before)


def _box_steps(tree: Tree, contents: list[list[Part]]) -> None:
    """Make a box of each content, the last step first, and boxes of boxes if there are many."""
    boxes: list[Part] = []
    for k, content in enumerate(reversed(contents)):  # the first step is the deepest
        boxes.append(_step(tree, f"step{k + 1}", content))
    first = [k + 1 for k in range(len(boxes))]
    last = first[:]
    while len(boxes) > ROW:
        rows = range(0, len(boxes), ROW)
        first, last = [first[r] for r in rows], [last[min(r + ROW, len(last)) - 1] for r in rows]
        boxes = [
            _step(tree, f"steps{a}-{b}", boxes[r : r + ROW])
            for r, a, b in zip(rows, first, last, strict=True)
        ]


def _step(tree: Tree, name: str, content: list[Part]) -> Part:
    """Make the box of a step; what is a box already, or a single operation, needs no other."""
    operations = [part for part in content if isinstance(part, Box) or not tree.is_leaf(part)]
    if len(operations) == 1:
        (step,) = operations
        if not isinstance(step, Box):
            return step
        if not step.is_scope:
            step.name = name
        for leaf in content:
            if leaf is not step:
                tree.home[leaf] = step
    else:
        step = tree.wrap(name, content)
    step.is_step = True
    return step
