"""Where a figure comes from: what `foreseal bench` writes of itself, for every result file here."""

from foreseal.bench.origin import origin, save

__all__ = ["origin", "save"]
