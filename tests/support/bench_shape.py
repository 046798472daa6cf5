"""Short benchmarks, a progress report that shows nothing, and the profiler of this machine."""

from benches.compare.perf import PerfSampler

from foreseal.bench.chain_content import ContentShape
from foreseal.bench.errors import BenchError
from foreseal.bench.progress import ProgressUpdate

SHAPE = ContentShape(blocks=30, dense=2, transfers=100, every=10)
LONG = 240.0
"""Time limit in seconds of a benchmark, which takes long while other programs use the cores."""
SHORT = (
    *("--blocks", 60, "--dense", 2, "--connections", "1,2", "--seconds", 0.05, "--repetitions", 1),
    *("--transactions", 100, "--samples", 2, "--subscribers", 3),
)
"""Options of the shortest benchmark."""


def quiet(update: ProgressUpdate) -> None:
    """Show nothing."""


def find_perf() -> PerfSampler | str:
    """Return the sampler, or the reason why this machine has none."""
    try:
        return PerfSampler()
    except BenchError as error:
        return str(error)
