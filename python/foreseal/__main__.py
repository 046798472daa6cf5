"""`python -m foreseal`: the command."""

from foreseal.cli.entry import main

main()
