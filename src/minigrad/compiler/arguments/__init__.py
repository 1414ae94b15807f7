"""Arguments as numbers: containers of any depth, laid out in a row."""
