"""Two moons: a network of single numbers learns to tell two half circles apart.

    python examples/moons.py       # a second
    minigrad train moons --help    # the same with options, a progress bar and pictures

The demonstration that micrograd made famous. Read it from top to bottom: data, a model, a loss, a
loop. Write @minigrad.compile above `measure`, and the same numbers come from a program in C.
"""

import minigrad
from minigrad import datasets, loss, nn, optim

STEPS = 100
points, labels = datasets.moons(100, noise=0.1, seed=1337)  # labels are -1 and +1
model = nn.MLP(2, [16, 16, 1], seed=1337)  # 337 numbers, each a Value: all that is learnt here
optimizer = optim.SGD(model.parameters(), lr=optim.linear(1.0, 0.1, STEPS))  # ever shorter steps


def measure():
    """Return the loss of the model as it is now, and the share of points that it gets right."""
    scores = [model(point) for point in points]
    # A point is free once its score has its label's sign and is 1 off zero; large weights are not.
    total = loss.hinge(scores, labels) + 1e-4 * loss.l2(model.parameters())
    right = [score.data * label > 0 for score, label in zip(scores, labels, strict=True)]
    return total, sum(right) / len(right)


losses, accuracies = [], []
for step in range(STEPS + 1):
    total, accuracy = measure()
    losses.append(total.data)
    accuracies.append(accuracy)
    if step % 10 == 0:
        print(f"step {step:3}   loss {total.data:.4f}   accuracy {accuracy:.0%}")
    if step < STEPS:  # after the last step, only look
        optimizer.zero_grad()  # gradients add up, so those of the step before must go
        total.backward()
        optimizer.step()

print(f"{len(model.parameters())} parameters, {minigrad.engine()} engine")
