"""Table of starts, memory and single hashes on the performance page."""

from result_files import headings, load, load_if_measured, missing, origin, row

RESULT = "start_figures.json"
NODE = "foreseal dev"
"""Name of the start of a node; the others are those of test chains."""
# Goals: milliseconds until the first answer and the first block, megabytes, processor seconds, ratio.
_FIRST_ANSWER, _FIRST_BLOCK, _RESIDENT, _SUITE_SECONDS, _KECCAK = 250, 400, 220, 2, 20
_STATES = {"sent": "at once", "settled": "12 s later"}


def start_figures() -> str:
    """Return starts, memory and the cost of a single hash, and the duration of 200 tests with web3.py."""
    report = load_if_measured(RESULT)
    if not report:
        return missing(RESULT)
    lines = [origin(report), "", *headings("work", "measured", "processor time", "goal")]
    for start in report["starts"]:
        is_node = start["start"] == NODE
        work = f"first {'answer' if is_node else 'block'} of `{start['start']}`"
        goal = _FIRST_ANSWER if is_node else _FIRST_BLOCK
        lines.append(row(work, f"{start['wall_ms']:,.0f} ms", f"{start['cpu_ms']:,.0f} ms", f"{goal} ms"))
    memory = report["memory"]
    for state, when in _STATES.items():
        usage = memory[state]
        measured = f"{usage['resident_mb']:,.0f} MB, without files {usage['anonymous_mb']:,.0f} MB"
        work = f"resident after {memory['transactions']:,} transactions, {when}"
        lines.append(row(work, measured, "", f"{_RESIDENT} MB"))
    ratio = f"{report['keccak']['ratio']:.1f} times {report['keccak']['peer']}"
    lines.append(row("one keccak of 32 bytes from Python", ratio, "", f"{_KECCAK} times"))
    suite = next(each for each in load("testing_suite.json")["results"] if each["chain"] == "foreseal")
    times = (f"{suite['wall_seconds']:.1f} s", f"{suite['cpu_seconds']:.1f} s")
    lines.append(row("200 tests with web3.py (`make testing`)", *times, f"{_SUITE_SECONDS} s of processor time"))
    return "\n".join(lines)
