"""From scalar code to a tensor program: trace, group, differentiate, lower, run."""
