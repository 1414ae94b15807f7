"""From program to program."""
