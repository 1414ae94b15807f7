"""`python -m minigrad` is the command line."""

from .cli import main

main()
