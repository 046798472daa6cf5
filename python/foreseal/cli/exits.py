"""Exit codes beside 0."""

FAILED = 1
WRONG_USE = 2
# By SIGINT or SIGTERM, of a command that had not done its work; a server that was told to stop has.
INTERRUPTED = 130
