"""What each lab measures. A probe imports the learner's `engine.py`; it is copied, or run apart.

`EXPERIMENTS` are functions that return numbers by name, `RIGHT` is what mathematics says, worked
out by hand. `_show.py` is added at the end of the copy that a learner runs.
"""
