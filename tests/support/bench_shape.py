"""A small benchmark content, a progress report that shows nothing, and the profiler of this machine."""

from foreseal.bench.chain_content import ContentShape
from foreseal.bench.errors import BenchError
from foreseal.bench.perf import PerfSampler
from foreseal.bench.progress import ProgressUpdate

SHAPE = ContentShape(blocks=30, dense=2, transfers=100, every=10)


def quiet(update: ProgressUpdate) -> None:
    """Show nothing."""


def find_perf() -> PerfSampler | str:
    """Return the sampler, or the reason why this machine has none."""
    try:
        return PerfSampler()
    except BenchError as error:
        return str(error)
