"""A small benchmark content, and a progress report that shows nothing."""

from foreseal.bench.chain_content import ContentShape
from foreseal.bench.progress import ProgressUpdate

SHAPE = ContentShape(blocks=30, dense=2, transfers=100, every=10)


def quiet(update: ProgressUpdate) -> None:
    """Show nothing."""
