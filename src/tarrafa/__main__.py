"""`python -m tarrafa` is `tarrafa`."""

from tarrafa.cli import main

main()
