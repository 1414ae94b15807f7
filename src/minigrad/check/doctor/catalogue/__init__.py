"""The catalogue: what goes wrong in engines that people write, one row each.

A row names the fault, tells what a learner sees, why it happens and how it is mended, and plants
it: a sound engine (`sound/`) with a few lines changed is the patient. Which probes a fault fails
is not written here: it is found by running the patient (`signatures.py`), and that is also how the
doctor knows a fault again in a stranger's engine. A limit or a note has a function, `shows`.

Three kinds: a *fault* is a wrong number or a crash on a first backward(); a *limit* shows beyond
that; a *note* is a matter of taste.
"""

from __future__ import annotations

from . import crashes, limits, rules, state, structure
from .rows import Fault

__all__ = ["CATALOGUE", "CRASHES", "FAULTS", "GENERAL", "ORDERS", "Fault"]

CATALOGUE = [*structure.ROWS, *rules.ROWS, *state.ROWS, *crashes.ROWS, *limits.ROWS]
FAULTS = {fault.code: fault for fault in CATALOGUE}
CRASHES = crashes.ROWS
ORDERS = ("plain_recursion", "breadth_first", "insertion_order", "visited_twice", "visited_anew",
          "listed_twice", "stack_order")  # fmt: skip

# What the doctor says where it knows what kind of thing is wrong, but not which: no patients. {0}
# is the operation, or the error.
GENERAL = {
    fault.code: fault
    for fault in (
        Fault(
            "wrong_order", "fault", "nodes do not run in topological order",
            "A chain is right; where ways meet again, gradients are wrong.",
            "A node's _backward runs before all of its users have run theirs, or more than once.",
            "Sort the nodes first, and run each _backward once, after those of all its users.",
            (), where="backward",
        ),
        Fault(
            "wrong_seed", "fault", "the pass does not begin with 1",
            "All gradients are {0} times what is right.",
            "The gradient of the result is {0}; the derivative of a thing by itself is 1.",
            "self.grad = 1.0 before the first _backward.",
            (), where="backward",
        ),
        Fault(
            "wrong_value", "fault", "the value of {0} is wrong",
            "The number that comes out of {0} is another one, before any gradient.",
            "The mistake is where the value is computed, not in the backward pass.",
            "Compute the value of the expression by hand, and compare with what {0} computes.",
            (), mark="def",
        ),
        Fault(
            "changes_operand", "fault", "{0} changes the number of its operand",
            "After {0} its operand has another number, and so has whoever uses it again.",
            "An operation makes a new node; what it is given stays as it was.",
            "Compute with a number of its own, and give that to the node that is made.",
            (), mark="def",
        ),
        Fault(
            "wrong", "fault", "the gradient of {0} is wrong",
            "The value of {0} is right, and its gradient is not.",
            "It is no slip that the catalogue has.",
            "Compare the derivative of {0}, times out.grad, with the rule; write it with +=.",
            (),
        ),
        Fault(
            "wrong_other", "fault", "the gradient of {0} does not fit its own values",
            "{0} changes otherwise than its gradient says.",
            "What is right was found by differences: the values of {0} a little to both sides.",
            "Differentiate what {0} computes, and write that times out.grad into its rule, by +=.",
            (),
        ),
        Fault(
            "slip", "fault", "{0} is wrong because of one line",
            "Numbers that come from {0} are wrong.",
            "With this line written otherwise, and nothing else changed, they are right.",
            "Write  {2}  instead of  {1}",
            (),
        ),
        Fault(
            "formula", "fault", "the derivative of {0} is wrong",
            "The value of {0} is right, and its gradient is not.",
            "With the right derivative in this line, and nothing else changed, it is.",
            "Write  {2}  instead of  {1}",
            (),
        ),
        Fault(
            "surplus", "fault", "{0} has a line too many",
            "Numbers that come from {0} are wrong.",
            "Without this line, and with nothing else changed, they are right.",
            "Leave out  {1}",
            (),
        ),
        Fault(
            "keyed_by_operand", "fault", "{0} keeps its gradients in a dict, under its operands",
            "Right with two operands; {0} of a Value with itself has one entry instead of two.",
            "A dict has one entry for a key: where both operands are the same Value, the second "
            "entry replaces the first.",
            "Keep them in the order of the operands, in a tuple.",
            (), mark="def",
        ),
        Fault(
            "after_return", "fault", "lines behind a return never run",
            "{0} is right by its value, and its gradient is not there.",
            "A return ends the function at once; what stands behind it is never reached.",
            "Put  {1}  before  {2}",
            (),
        ),
        Fault(
            "slip_too", "fault", "{0} is wrong because of one line, too",
            "Numbers that come from {0} are wrong, even if the other lines are mended.",
            "With the lines of the other findings mended, and this line written otherwise, they "
            "are right.",
            "Write  {2}  instead of  {1}",
            (),
        ),
        Fault(
            "formula_too", "fault", "the derivative of {0} is wrong, too",
            "The gradient of {0} is wrong, even if the other lines are mended.",
            "With the lines of the other findings mended, and the right derivative in this line, "
            "it is right.",
            "Write  {2}  instead of  {1}",
            (),
        ),
        Fault(
            "forward_gradient", "fault", "{0} sets gradients while the graph is built",
            "No gradient gets past {0}.",
            "When this line runs, the result has no gradient yet: that comes with backward().",
            "Put it into a function _backward inside of {0}, and keep that: out._backward = "
            "_backward.",
            (),
        ),
        Fault(
            "forward_gradients", "fault", "operations set gradients while the graph is built",
            "All gradients are 0, or of an earlier pass.",
            "When these lines run, the result has no gradient yet: that comes with backward().",
            "Put them into a function _backward inside of each operation, and keep that: "
            "out._backward = _backward.",
            (),
        ),
        Fault(
            "self_backward", "fault", "operations give their rules to the operands",
            "One operation is right; what lies deeper gets no gradient.",
            "self._backward = … replaces the rules of operands, and results have none.",
            "Write  {2}  instead of  {1}, and so in the other operations.",
            (),
        ),
        Fault(
            "rules_go_on", "fault", "rules call the rules of their operands as well",
            "The last operation is right; what lies deeper gets too much.",
            "Each rule goes on to its operands, and backward() calls every rule too: what they "
            "pass on is added more than once.",
            "Take  {1}  and the like out of the rules: backward() calls each one, once.",
            (),
        ),
        Fault(
            "goes_no_further", "fault", "the walk ends at the operands of the result",
            "Small expressions are right; what lies deeper gets no gradient.",
            "The function that lists the nodes lists operands, and does not go on to theirs.",
            "Write  {2}  instead of  {1}",
            (),
        ),
        Fault(
            "shared_default", "fault", "a default argument is kept from one call to the next",
            "The first backward() is right, and later ones are not.",
            "Python makes a default once, when it reads the def: what a call puts into the list is "
            "still there in the next one.",
            "Make it inside of the function:  {2}",
            (),
        ),
        Fault(
            "shared_list", "fault", "all Values share one list",
            "The first backward() is right, and later ones are not.",
            "The list is outside of the function, and keeps what earlier calls have put into it.",
            "Begin anew:  {2}",
            (),
        ),
        Fault(
            "not_passed_on", "fault", "results do not ask for gradients",
            "Leaves that are made with a switch for gradients have one; results have not.",
            "Operations make their results without it, so that it is off there and rules stop.",
            "Pass it on: out is made with it if an operand has it.",
            (),
        ),
        Fault(
            "crash", "fault", "an expression ends in {0}",
            "An expression of operations that the class has ends in {0}.",
            "The message and the line are the engine's own.",
            "Run the line of this report by itself, and read the whole traceback.",
            (),
        ),
        Fault(
            "no_end", "fault", "an expression does not come to an end",
            "An expression of operations that the class has takes for ever.",
            "A loop does not end: what it waits for never changes, or comes back again and again.",
            "Ask of the loop around this line what is to end it, and print that in each turn.",
            (),
        ),
        Fault(
            "refusal", "limit", "the engine refuses an expression",
            "It raises an error of its own on ordinary operands.",
            "A raise or an assert in the file says no.",
            "If it need not, take the check out.",
            (),
        ),
        Fault(
            "unknown", "fault", "gradients are wrong in a way that is not in the catalogue",
            "Every operation is right by itself; together they are not.",
            "No fault of the catalogue gives these numbers.",
            "Run the line of this report, and compare the gradient of each node with the right.",
            (),
        ),
    )
}  # fmt: skip
