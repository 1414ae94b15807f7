"""Reinsertion: take a box out with all its edges and put it back where they cross least.

With everything else in place, the best way for one edge is a shortest-path problem: in each layer
that it passes it can take any place between the items there, and a link from one place to a place
in the next layer costs the links that it crosses. Solved from the far end of each edge towards the
box (dynamic programming), this gives the cost of every place for the box itself. So a box jumps
over hills that exchanging neighbours would never cross, and long edges move as a whole.

Words: an item at index k has place k before it and place k + 1 behind it. `step` is 1 where edges
lead to later layers, -1 to earlier ones. What is taken out has position -1.

Start at `Reinsertion.reinsert`.
"""

from __future__ import annotations

from itertools import accumulate
from operator import add

from .layers import Layers, Order, positions


class Reinsertion:
    """The state of a search: the order of the layers, kept with the position of every item."""

    def __init__(self, graph: Layers, effort: int) -> None:
        self.graph = graph
        self.order: Order = []
        self.position: list[int] = []
        self.effort = effort  # what is left, in steps of the innermost loops
        self.chains: list[list[list[int]]] = [[] for _ in range(graph.boxes)]  # the box first
        for chain in graph.chains:
            if chain:
                self.chains[chain[0]].append(chain)
                self.chains[chain[-1]].append(chain[::-1])

    def begin(self, order: Order) -> None:
        """Search from here on, with what is left of the effort."""
        self.order = [layer[:] for layer in order]
        self.position = positions(self.graph, order)

    def effort_spent(self) -> bool:
        """Say whether there is little left to spend."""
        return self.effort < 1_000

    def reinsert(self, box: int, *, late: bool) -> None:
        """Move the box to the best place; of several, to the first one or to the last (`late`)."""
        here = self.graph.rank[box]
        chains = self.chains[box]
        long = [chain for chain in chains if len(chain) > 2]
        slots = [slot for chain in long for slot in chain[1:-1]]
        price = self._price(box, slots)
        if price > self.effort:
            return
        self.effort -= price
        old = self.position[box]
        self._take_out([box, *slots])
        costs = [0] * (len(self.order[here]) + 1)
        for step in (1, -1):
            ends = [
                self.position[chain[1]]
                for chain in chains
                if len(chain) == 2 and self.graph.rank[chain[1]] == here + step
            ]
            if ends:
                costs = list(map(add, costs, self._to_ends(here, step, ends)))
        for chain in long:
            costs = list(map(add, costs, self._ways(chain, here)[-1]))
        fewest = min(costs)
        if costs[old] == fewest:
            place = old
        elif late:
            place = len(costs) - 1 - costs[::-1].index(fewest)
        else:
            place = costs.index(fewest)
        self.order[here].insert(place, box)
        self._number(here)
        for chain in long:
            self._lay(chain)

    def _price(self, box: int, slots: list[int]) -> int:
        """Estimate the steps of the innermost loops that a reinsertion takes."""
        rank, order = self.graph.rank, self.order
        ways = sum([(10 + len(order[rank[slot]])) ** 2 for slot in slots])
        return 20 + 6 * len(order[rank[box]]) + ways

    def _take_out(self, items: list[int]) -> None:
        for item in items:
            self.position[item] = -1
        # Each layer once; from a dict, because a set has no order of its own.
        for layer in dict.fromkeys([self.graph.rank[item] for item in items]):
            self.order[layer] = [item for item in self.order[layer] if self.position[item] >= 0]
            self._number(layer)

    def _number(self, layer: int) -> None:
        position = self.position
        for place, item in enumerate(self.order[layer]):
            position[item] = place

    def _links(self, layer: int, step: int) -> list[list[int]]:
        """Return for each item of the layer where its links towards `step` end."""
        position = self.position
        links = self.graph.after if step > 0 else self.graph.before
        return [
            [at for other in links[item] if (at := position[other]) >= 0]
            for item in self.order[layer]
        ]

    def _to_ends(self, layer: int, step: int, ends: list[int]) -> list[int]:
        """Return for each place in the layer what links from there to the given ends cross."""
        size = len(self.order[layer + step])
        # A link that ends at p and starts behind our place is crossed by ours to the ends behind p;
        # once our place is behind its start, by ours to the ends before p.
        behind = [0] * size
        for end in ends:
            for at in range(end):
                behind[at] += 1
        total = len(ends)
        change = [total - 2 * number for number in behind]
        for end in ends:
            change[end] -= 1
        start = 0
        changes = []
        for links in self._links(layer, step):
            moved = 0
            for at in links:
                start += behind[at]
                moved += change[at]
            changes.append(moved)
        return list(accumulate(changes, initial=start))

    def _ways(self, chain: list[int], here: int) -> list[list[int]]:
        """Return the costs of leading a chain from its far end to each place, up to layer `here`.

        One list for each layer, beginning with the one next to the far end.
        """
        rank = self.graph.rank
        far = chain[-1]
        step = 1 if rank[far] > here else -1
        layer = rank[far] - step
        ways = [self._to_ends(layer, step, [self.position[far]])]
        while layer != here:
            layer -= step
            ways.append([min(map(add, ways[-1], costs)) for costs in self._to_places(layer, step)])
        return ways

    def _to_places(self, layer: int, step: int) -> list[list[int]]:
        """Return for each place in the layer what a link to each place in the next one crosses."""
        size = len(self.order[layer + step]) + 1
        links = self._links(layer, step)
        ending = [0] * size
        for ends in links:
            for at in ends:
                ending[at + 1] += 1
        costs = list(accumulate(ending))  # from the first place: all links that end before
        result = [costs]
        for ends in links:
            for at in ends:
                costs = [cost + 1 for cost in costs[: at + 1]] + [
                    cost - 1 for cost in costs[at + 1 :]
                ]
            result.append(costs)
        return result

    def _lay(self, chain: list[int]) -> None:
        """Put in the slots of a chain, both ends of which are in place, where they cross least."""
        rank, position = self.graph.rank, self.position
        step = 1 if rank[chain[-1]] > rank[chain[0]] else -1
        layer = rank[chain[0]] + step
        ways = self._ways(chain, layer)
        costs = self._to_ends(layer, -step, [position[chain[0]]])
        for slot in chain[1:-1]:
            costs = list(map(add, ways.pop(), costs))
            place = costs.index(min(costs))
            costs = self._to_places(layer, step)[place] if ways else []
            self.order[layer].insert(place, slot)
            layer += step
        for slot in chain[1:-1]:
            self._number(rank[slot])
