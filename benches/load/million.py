"""A million transactions in one run: resident size over time, saved with a plot.

`python -m benches.load.million [--transactions N]`
"""

import argparse
import json
import subprocess
from pathlib import Path
from typing import Any

from benches.result_file import save

from foreseal.bench.provenance import read_provenance

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "benches" / "results" / "million.json"
PLOT = ROOT / "docs" / "images" / "million.svg"

WIDTH, HEIGHT, MARGIN = 760, 320, 56
MEGA = 1_000_000
# Maximum growth of the process's own memory, from the middle of the run to its end, that counts as flat.
FLAT = 1.1


def run(transactions: int, accounts: int) -> list[dict[str, Any]]:
    """Run once and return the samples, oldest first; print each as it arrives."""
    command = ["cargo", "run", "--release", "--quiet", "-p", "foreseal-benches", "--example", "million", "--"]
    samples = []
    with subprocess.Popen([*command, str(transactions), str(accounts)], cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for line in process.stdout:
            samples.append(json.loads(line))
            print(line.decode().strip(), flush=True)
    if process.returncode:
        raise SystemExit(f"the run ended with exit code {process.returncode}")
    return samples


def plot(samples: list[dict[str, Any]]) -> str:
    """Plot resident megabytes over transactions, as SVG."""
    most = max(sample["anonymous_bytes"] + sample["file_bytes"] for sample in samples) / MEGA
    top = max(100, -(-most // 100) * 100)
    last = samples[-1]["transactions"]

    def point(transactions: float, megabytes: float) -> tuple[float, float]:
        x = MARGIN + (WIDTH - 2 * MARGIN) * transactions / last
        return round(x, 1), round(HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * megabytes / top, 1)

    def line(name: str, colour: str, values: list[float]) -> str:
        pairs = zip((sample["transactions"] for sample in samples), values, strict=True)
        points = " ".join(f"{x},{y}" for x, y in (point(*pair) for pair in pairs))
        x, y = point(last, values[-1])
        label = f'<text x="{x - 4}" y="{y - 6}" text-anchor="end" fill="{colour}">{name}</text>'
        return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>{label}'

    own = [sample["anonymous_bytes"] / MEGA for sample in samples]
    total = [(sample["anonymous_bytes"] + sample["file_bytes"]) / MEGA for sample in samples]
    grid = []
    for part in range(5):
        x, y = point(0, top * part / 4)
        end, _ = point(last, 0)
        grid.append(f'<line x1="{x}" y1="{y}" x2="{end}" y2="{y}" stroke="#ddd"/>')
        grid.append(f'<text x="{x - 6}" y="{y + 4}" text-anchor="end">{top * part / 4:.0f}</text>')
        x, y = point(last * part / 4, 0)
        grid.append(f'<text x="{x}" y="{y + 18}" text-anchor="middle">{last * part / 4:,.0f}</text>')
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            'font-family="sans-serif" font-size="12">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
            f'<text x="{MARGIN}" y="24" font-size="14">Resident megabytes over token transfers in one run</text>',
            *grid,
            line("with mapped pages of the store", "#888", total),
            line("own memory", "#06c", own),
            "</svg>\n",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transactions", type=int, default=1_000_000)
    parser.add_argument("--accounts", type=int, default=200_000, help="receivers")
    given = parser.parse_args()
    samples = run(given.transactions, given.accounts)
    own = [sample["anonymous_bytes"] for sample in samples]
    growth = max(own[-len(own) // 10 :]) / max(own[len(own) // 2 : len(own) // 2 + len(own) // 10 + 1])
    figures = {
        "transactions": given.transactions,
        "accounts": given.accounts,
        "seconds": samples[-1]["seconds"],
        "own_memory_growth_second_half": round(growth, 3),
        "target": FLAT,
        "reached": growth <= FLAT,
        "samples": samples,
    }
    command = f"python -m benches.load.million --transactions {given.transactions} --accounts {given.accounts}"
    save(read_provenance(command, ()) | figures, RESULT)
    PLOT.write_text(plot(samples))
    print(json.dumps({name: value for name, value in figures.items() if name != "samples"}))


if __name__ == "__main__":
    main()
