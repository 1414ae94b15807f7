"""What a rule of the op table is evaluated on, a module for each kind of number."""
