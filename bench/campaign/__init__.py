"""Everything that minigrad promises to survive, tried at length: `python -m bench.campaign`."""
