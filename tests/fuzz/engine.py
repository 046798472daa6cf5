"""One target of the Python side: `python -m fuzz.engine TARGET` and options of libFuzzer.

Under atheris where there is one for this Python, otherwise with damaged inputs that no coverage guides.
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

# What is imported here is what coverage is measured of.
with atheris.instrument_imports(include=["foreseal", "rlp", "fuzz"]) if atheris else contextlib.nullcontext():
    from fuzz.corpus import damaged, inputs
    from fuzz.targets import TARGETS, Target


def main() -> None:
    """Run it to the end; a failure ends the process."""
    target = TARGETS[sys.argv.pop(1)]
    # What is shared between runs belongs to none of them.
    target.run(b"")
    if atheris:
        atheris.Setup(sys.argv, target.run)
        atheris.Fuzz()
    else:
        options = dict(word[1:].split("=", 1) for word in sys.argv[1:] if word.startswith("-"))
        unguided(target, options)


def unguided(target: Target, options: dict[str, str]) -> None:
    """The same options, as far as they mean anything here."""
    chance, saved = random.Random(int(options["seed"])), inputs(target.name)
    most, began, done = int(options["max_total_time"]), monotonic(), 0
    while done < int(options["runs"]) and not (most and monotonic() - began > most):
        data = damaged(chance, saved, target.longest)
        try:
            target.run(data)
        except BaseException:
            found = Path(options["artifact_prefix"]) / f"crash-{done}"
            found.write_bytes(data)
            print(f"Test unit written to {found}", flush=True)
            raise
        done += 1
    target.stop()
    print(f"stat::number_of_executed_units: {done}")


if __name__ == "__main__":
    main()
