"""Version 1: a number in a box.

New here: `Value`, an object that holds one number in `data`. It cannot do anything yet; it only
knows how to show itself.

>>> Value(2.0)
Value(data=2.0)
"""


class Value:
    """One number."""

    def __init__(self, data):
        self.data = data

    def __repr__(self):
        return f"Value(data={self.data})"
