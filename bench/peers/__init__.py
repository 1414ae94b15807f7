"""The peers of bench/compiled.py.

A peer is a class. `prepare(case)` returns a `Job`: `run`, the step that is timed, and `read`, which
turns what `run` returned into the value and the gradient in the common order, outside the clock.
A peer that can also be trained on case B has `trainer(length)`, for documents of at most `length`
predictions: it returns a training step, to be called with the tokens of one document, and a
function that returns all parameters. The cases' data stand in `problems.py`. A peer whose package
is not installed raises ImportError when it is made.
"""
