"""One Python target: `python -m fuzz.engine TARGET` and options of libFuzzer.

It runs under atheris if that is available for this Python, otherwise with damaged inputs without coverage guidance.
"""

import contextlib
import random
import sys
from pathlib import Path
from time import monotonic

try:
    import atheris
except ImportError:
    atheris = None

# Coverage is measured for modules imported here.
with atheris.instrument_imports(include=["foreseal", "rlp", "fuzz"]) if atheris else contextlib.nullcontext():
    from fuzz.corpus import damaged, inputs
    from fuzz.targets import TARGETS, Target


def main() -> None:
    """Run the target to the end; a failure ends the process."""
    target = TARGETS[sys.argv.pop(1)]
    # Set up the state that runs share, so that no run includes it.
    target.run(b"")
    if atheris:
        atheris.Setup(sys.argv, target.run)
        atheris.Fuzz()
    else:
        options = dict(word[1:].split("=", 1) for word in sys.argv[1:] if word.startswith("-"))
        unguided(target, options)


def unguided(target: Target, options: dict[str, str]) -> None:
    """Run without coverage guidance, with the applicable options."""
    chance, saved = random.Random(int(options["seed"])), inputs(target.name)
    most, began, done = int(options["max_total_time"]), monotonic(), 0
    while done < int(options["runs"]) and not (most and monotonic() - began > most):
        data = damaged(chance, saved, target.longest)
        try:
            target.run(data)
        except BaseException:
            file = Path(options["artifact_prefix"]) / f"crash-{done}"
            file.write_bytes(data)
            print(f"Test unit written to {file}", flush=True)
            raise
        done += 1
    target.stop()
    print(f"stat::number_of_executed_units: {done}")


if __name__ == "__main__":
    main()
