"""Faults of a whole engine: how gradients add up, in which order, from which seed."""

from __future__ import annotations

import functools

from .rows import ADD, DIV, MUL, SORT, Fault, add

ROWS: list[Fault] = []
_row = functools.partial(add, ROWS, "fault")

# fmt: off
# ---- accumulation -------------------------------------------------------------------------------

_row("overwrite", "every operation overwrites gradients",
     "b = a + a gives 1 instead of 2; every Value that is used twice has a wrong gradient.",
     "self.grad = … keeps the last contribution and throws the others away; the chain rule adds "
     "them up, one for each path.",
     "Write += instead of = wherever a _backward sets a gradient.",
     (".grad += ", ".grad = "), where="assign", varies=True)
_row("same_object", "an operation with itself loses a contribution",
     "a + a and a * a are wrong, everything else is right.",
     "Both old gradients are read before either is written: if the operands are the same object, "
     "the second write undoes the first.",
     "Two statements, one after the other: self.grad += …, then other.grad += ….",
     (ADD, "self.grad, other.grad = self.grad + out.grad, other.grad + out.grad"),
     (MUL, "self.grad, other.grad = (\n                self.grad + other.data * out.grad,\n"
      "                other.grad + self.data * out.grad,\n            )"),
     (DIV, "self.grad, other.grad = (\n                self.grad + out.grad / other.data,\n"
      "                other.grad - self.data / other.data**2 * out.grad,\n            )"),
     where="add", varies=True)
_row("set_prev", "a set of operands loses an edge",
     "b = a + a gives 1 instead of 2, and a * a gives a.",
     "A set holds each operand once, so that the second use of a is not there any more.",
     "Keep the operands in a tuple, in order, with repeats.",
     ("            for child, local_grad in zip(v._children, v._local_grads, strict=True):\n"
      "                child.grad += local_grad * v.grad",
      "            for child in set(v._children):\n"
      "                child.grad += v._local_grads[v._children.index(child)] * v.grad"),
     base="local_grads", where="backward", varies=True)

# ---- order --------------------------------------------------------------------------------------

_row("plain_recursion", "no topological sort: plain recursion",
     "A chain is right; where ways meet again, gradients come out too large.",
     "Each way down runs a node's _backward again, with everything that has gathered in it by "
     "then.",
     "Sort the nodes first; run each _backward once, after those of all its users.",
     (SORT, """        self.grad = 1.0  # seed

        def visit(v):
            v._backward()
            for child in v._prev:
                visit(child)

        visit(self)
"""), where="backward", varies=True)
_row("breadth_first", "no topological sort: breadth first",
     "Right as long as all ways to a node are equally long.",
     "A node runs when its first user has finished, not when all of them have: it passes on a "
     "gradient that is still growing.",
     "A topological sort: a node after all of its users.",
     (SORT, """        self.grad = 1.0  # seed
        queue, seen = [self], {self}
        for v in queue:
            v._backward()
            for child in v._prev:
                if child not in seen:
                    seen.add(child)
                    queue.append(child)
"""), where="backward", varies=True)
_row("stack_order", "no topological sort: a stack of nodes",
     "Right for trees; wrong where ways of different lengths meet again.",
     "The node that was put onto the stack last runs next, whether all of its users have run or "
     "not: it passes on a gradient that is still growing.",
     "A topological sort: a node after all of its users.",
     (SORT, """        self.grad = 1.0  # seed
        stack, seen = [self], set()
        while stack:
            v = stack.pop()
            if v not in seen:
                seen.add(v)
                v._backward()
                stack.extend(v._prev)
"""), where="backward", varies=True)
_row("insertion_order", "nodes run in the order in which they are met",
     "Right for trees; wrong where a shared node is met early and used again later.",
     "Nodes are listed, or their rules run, on the way down: before all of their users were met.",
     "Append a node after its children, and run the list from its end.",
     (SORT, SORT.replace("                topo.append(v)\n", "").replace(
         "                visited.add(v)\n", "                visited.add(v)\n"
         "                topo.append(v)\n").replace("reversed(topo)", "topo")),
     where="backward", varies=True)
_row("forward_order", "the sorted list is run from the wrong end",
     "Only the operands of the last operation have a gradient.",
     "Leaves come first in the list: they run while their own gradients are still 0.",
     "Run it backwards: for v in reversed(topo).",
     ("for v in reversed(topo):", "for v in topo:"), where="backward")
_row("visited_twice", "shared nodes run more than once",
     "Gradients behind a shared node come out too large.",
     "Without a set of visited nodes the list holds a shared node once for every way to it.",
     "Remember what has been visited.",
     ("            if v not in visited:\n                visited.add(v)\n"
      "                for child in v._prev:\n                    build(child)\n"
      "                topo.append(v)",
      "            for child in v._prev:\n                build(child)\n"
      "            topo.append(v)"), where="backward", varies=True)

_row("visited_anew", "the set of visited nodes begins anew in every call",
     "Gradients behind a shared node come out too large.",
     "Each call of the function that sorts the graph makes a set of its own, so that nothing is "
     "ever found in it: the list holds a shared node once for every way to it.",
     "Make the set once, before the function that sorts.",
     ("        visited = set()\n\n        def build(v):\n",
      "\n        def build(v):\n            visited = set()\n"), where="backward", varies=True)
_row("listed_twice", "shared nodes are put into the list more than once",
     "Gradients behind a shared node come out too large.",
     "topo.append(v), and perhaps the loop above it, stands outside of the `if v not in visited`, "
     "so that it runs at every visit.",
     "Indent all that comes after the if, so that it belongs to it.",
     ("                topo.append(v)", "            topo.append(v)"),
     where="backward", varies=True)
_row("visited_by_name", "nodes are taken for visited by their names",
     "Only the operands of the last operation have a gradient.",
     "The set of visited nodes holds labels or names, and nodes without one are all alike in it.",
     "Keep the nodes themselves, or id(node), in the set.",
     ("            if v not in visited:\n                visited.add(v)\n",
      "            if v.label not in visited:\n                visited.add(v.label)\n"),
     where="backward")

# ---- seed ---------------------------------------------------------------------------------------

_row("missing_seed", "the result has no gradient to begin with",
     "All gradients are 0.",
     "Every contribution is a product with the gradient of the result, and that is still 0.",
     "Set self.grad = 1.0 before the first _backward: the derivative of a thing by itself is 1.",
     ("        self.grad = 1.0  # seed\n", ""), where="backward")
_row("seed_zero", "gradients are cleared where the pass needs them",
     "All gradients are 0, that of the result too, even if it was set by hand.",
     "self.grad = 0, or a loop that clears every node, comes after the seed.",
     "Clear first, then set self.grad = 1.0: the derivative of a thing by itself.",
     ("self.grad = 1.0  # seed", "self.grad = 0.0"), where="backward")

# ---- passes that do not go all the way ----------------------------------------------------------

_row("empty_pass", "backward() does nothing",
     "All gradients stay as they are.",
     "There is nothing in it yet: it sets no gradient and runs no rule.",
     "Set self.grad = 1.0, sort the nodes, and call _backward() of each from the result down.",
     (SORT, "        pass\n"), where="backward")
_row("hidden_pass", "an attribute hides the method backward()",
     "All gradients stay as they are.",
     "self.backward = … or out.backward = … gives a Value an attribute of that name, which wins "
     "over the method.",
     "Call the rule otherwise: self._backward = lambda: None, and out._backward = _backward.",
     ("        self._backward = lambda: None\n", "        self.backward = lambda: None\n"),
     where="init", mark="hides")
_row("nothing_runs", "backward() runs no rule",
     "The result's gradient is 1, and all others are 0.",
     "No rule is called: the loop is missing, or the brackets are (v._backward alone calls "
     "nothing), or operations keep their rules under another name.",
     "for v in reversed(topo): v._backward(), by the name that operations set.",
     ("            v._backward()\n", "            v._backward\n"), where="backward")
_row("never_listed", "the list of nodes stays empty",
     "The result's gradient is 1, and all others are 0.",
     "A function inside of backward() goes through the nodes, and puts none of them into the list "
     "that the loop runs over.",
     "After the children of a node: topo.append(v).",
     ("                topo.append(v)\n", ""), where="backward")
_row("other_root", "backward() sorts the graph of something else",
     "The result's gradient is 1, and all others are 0.",
     "The sort begins at a variable outside of the class instead of at self.",
     "Begin at self: build(self).",
     ("        build(self)\n", "        build(o)\n"), ("", "\n\no = Value(1.0)\n"),
     where="backward")
_row("sort_not_begun", "the function that sorts the graph is never called",
     "The result's gradient is 1, and all others are 0.",
     "A function inside of backward() fills the list of nodes, and nobody calls it: the list is "
     "empty.",
     "Call it before the loop: build(self).",
     ("        build(self)\n", ""), where="backward")
_row("reversed_preorder", "nodes are listed before their operands, and the list is reversed",
     "One operation is right; what lies deeper gets no gradient.",
     "A list that is filled on the way down begins with the result; reversed, it ends with it, so "
     "that all other rules run while their gradients are still 0.",
     "Append a node after its children, and keep reversed().",
     ("                for child in v._prev:\n                    build(child)\n"
      "                topo.append(v)\n",
      "                topo.append(v)\n                for child in v._prev:\n"
      "                    build(child)\n"), where="backward")
_row("other_seed", "the gradient to begin with goes to something else",
     "All gradients are 0.",
     "backward() gives 1 to a name from outside of it, and not to the result that it was called "
     "on.",
     "self.grad = 1.0 in backward().",
     ("        self.grad = 1.0  # seed\n",
      "        last.grad = 1.0\n"),
     ("", "\n\nlast = Value(0.0)\n"), where="backward")
_row("leaf_seed", "leaves are given the gradient that the result should begin with",
     "Every leaf has the gradient 1, and the result has 0.",
     "The pass sets 1 where it ends, in nodes without operands, and whatever has arrived there is "
     "lost; the derivative that is 1 is that of the result by itself.",
     "self.grad = 1.0 before the pass begins, and nothing where it ends.",
     (SORT, """        if not self._prev:
            self.grad = 1.0
            return
        self._backward()
        for child in self._prev:
            child.backward()
"""), where="backward")
_row("seed_everywhere", "every node begins with the gradient 1, not the result alone",
     "All gradients are 1, whatever the expression.",
     "backward() calls itself for the operands, and its first line sets each of them to 1, over "
     "what has arrived there; the derivative that is 1 is that of the result by itself.",
     "Set self.grad = 1.0 once, for the result, outside of what is called again for each node.",
     (SORT, """        self.grad = 1.0
        self._backward()
        for child in self._prev:
            child.backward()
"""), where="backward")
_row("late_seed", "the result's gradient is set after the loop",
     "The result's gradient is 1, and all others are 0.",
     "The rules run while the result's gradient is still 0, and pass on 0; 1 comes too late.",
     "self.grad = 1.0 before the loop that calls the rules.",
     ("        self.grad = 1.0  # seed\n        for v in reversed(topo):\n"
      "            v._backward()\n",
      "        for v in reversed(topo):\n            v._backward()\n"
      "        self.grad = 1.0\n"), where="backward")
_row("same_rule", "the loop calls the rule of the result again and again",
     "The last operands get their gradients several times; what lies deeper gets none.",
     "The loop goes through the nodes, and calls self._backward() instead of that of the node.",
     "for v in reversed(topo): v._backward().",
     ("            v._backward()\n", "            self._backward()\n"), where="backward")
_row("children_dropped", "the constructor does not keep the operands",
     "One operation is right; what lies deeper gets no gradient.",
     "Operands are given to the constructor, and it keeps none: backward() finds no way on.",
     "self._prev = set(_children) in __init__.",
     ("self._prev = tuple(dict.fromkeys(_children))", "self._prev = ()"), where="init", mark="def")
_row("no_pass", "nothing goes through the graph: backward() is the rule of one node",
     "All gradients are 0; with b.grad = 1 set by hand, those of the last operands move.",
     "Every node's backward is its own rule, and nobody calls those of the others in turn.",
     "Call the rules _backward, and write a method backward(): sort all nodes below the result, "
     "set self.grad = 1.0, and call each rule from the result down.",
     ("        self._backward = lambda: None\n", "        self.backward = lambda: None\n"),
     ("out._backward = _backward\n", "out.backward = _backward\n"),
     ("    def backward(self):\n" + SORT, ""), where="init")
_row("last_only", "backward() runs the rule of the result alone",
     "One operation is right; what lies deeper gets no gradient.",
     "self._backward() reaches the operands of the last operation, and nobody goes on from there.",
     "Sort all nodes below the result, and call _backward() of each, from the result down.",
     (SORT, "        self.grad = 1.0  # seed\n        self._backward()\n"), where="backward")
_row("two_levels", "backward() goes two levels down",
     "Small expressions are right; what lies deeper gets no gradient.",
     "The rule of the result and those of its operands run, and nobody goes on from there.",
     "Sort all nodes below the result, and call _backward() of each, from the result down.",
     (SORT, "        self.grad = 1.0  # seed\n        self._backward()\n"
      "        for child in self._prev:\n            child._backward()\n"), where="backward")
