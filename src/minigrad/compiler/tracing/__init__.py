"""From a function to a trace, and what must not change for it to hold."""
