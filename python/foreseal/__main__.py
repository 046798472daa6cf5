"""Entry point of `python -m foreseal`."""

from foreseal.cli.entry import main

main()
