"""Frames of recorded pages: figures, sizes, and hostile texts of other machines."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from foreseal.top.fields import Fields
from foreseal.top.frame import FrameModel, FrameOptions, draw_frame
from foreseal.top.node_model import build_node_model
from foreseal.top.node_sample import NodeSample
from foreseal.top.node_view import bar, strip
from foreseal.top.prometheus import parse_metrics
from foreseal.top.screen import print_frame
from foreseal.top.service_model import build_service_model
from foreseal.top.service_sample import ServiceSample
from foreseal.top.steps import ChainProgress, OpenBlock, StepTotals
from repository import SUPPORT

PAGE = (SUPPORT / "top" / "metrics.txt").read_text()
HOSTILE = "\x1b]0;owned\x07\x1b[2J[red]x[/red]\r\n\u202e\x9b2J"
WALL = 1_000.0
STATUS = {
    "block": "0x9",
    "index": "0x2",
    "hash": "0x" + "ab" * 32,
    "latest": "0x8",
    "age": 126,
    "role": "sequencer",
    "phase": "producing",
    "pool": {"pooled": 12, "queued": 3, "bytes": 4096},
    "store": {"head": "0x8", "backlog": 0, "share": 0.5, "bytes": 1 << 20, "scrub": {"damaged": 2}},
}
BLOCK = OpenBlock(
    9,
    gas_limit=1_000_000,
    timestamp=1_001,
    base_fee=340_000_000,
    newest=2,
    steps={0: StepTotals(0, 0), 1: StepTotals(100_000, 4), 2: StepTotals(410_000, 12)},
    withdrawn=frozenset({3}),
)


def sample(time: float, metrics: str | None = PAGE, **changes: Any) -> NodeSample:
    fields: dict[str, Any] = {"status": Fields(STATUS), "block": BLOCK, "version": "foreseal/v1", "chain_id": 31337}
    fields["metrics"] = None if metrics is None else parse_metrics(metrics)
    return NodeSample(time, "http://node", **(fields | changes))


def frame(model: FrameModel, width: int = 80, height: int | None = None, **options: Any) -> list[str]:
    return [line.plain for line in draw_frame(model, FrameOptions(width, height, **options), WALL)]


def node_frame(before: NodeSample | None, after: NodeSample, **options: Any) -> list[str]:
    return frame(FrameModel(build_node_model(before, after, WALL)), **options)


def increased(page: str, name: str, by: float) -> str:
    """Return a page with the first series of a metric increased."""
    lines = page.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(name))
    series, _, value = lines[at].rpartition(" ")
    return "\n".join([*lines[:at], f"{series} {float(value) + by}", *lines[at + 1 :]])


def test_first_reading_has_levels_but_no_rates() -> None:
    text = "\n".join(node_frame(None, sample(1.0)))
    assert "block 9  step 2  tx 12  seals in 1.0 s  withdrawn 0" in text
    assert "41% of 1.0M gas" in text
    assert "pending 12  queued 3  size 4.0 KiB  added -  replaced -" in text
    assert "gas -  tx -  base fee 0.34 gwei" in text
    assert "throttle 50%" in text
    assert "damaged pages 2" in text


def test_rates_are_those_between_two_readings() -> None:
    later = increased(PAGE, "foreseal_pool_added_total", 40)
    after = sample(3.0, later, progress=ChainProgress(gas=4e6, transactions=50))
    text = "\n".join(node_frame(sample(1.0), after))
    assert "gas 2.0M/s  tx 25/s" in text
    assert "added 20/s" in text


def test_progress_of_another_generation_is_no_rate() -> None:
    after = sample(3.0, progress=ChainProgress(gas=4e6, transactions=50, generation=1))
    assert any(line.startswith("gas -  tx -") for line in node_frame(sample(1.0), after))


def test_methods_are_ordered_by_calls_or_by_time() -> None:
    def page(calls: int, seconds: float) -> str:
        rows = {"often": (calls * 10, seconds), "slow": (calls, seconds * 10)}
        return "".join(
            f'foreseal_call_seconds_count{{method="{name}"}} {count}\n'
            f'foreseal_call_seconds_sum{{method="{name}"}} {spent}\n'
            for name, (count, spent) in rows.items()
        )

    def first(*, by_time: bool) -> str:
        lines = node_frame(sample(1.0, page(0, 0)), sample(2.0, page(5, 0.01)), by_time=by_time)
        return lines[next(at for at, line in enumerate(lines) if line.startswith("method")) + 1].split()[0]

    assert (first(by_time=False), first(by_time=True)) == ("often", "slow")


@pytest.mark.parametrize(("width", "height"), [(80, 24), (40, 10), (120, 30), (200, 60), (300, 50), (10, 3), (1, 1)])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_frame_fits_the_terminal(width: int, height: int, ascii_only: bool) -> None:
    service = build_service_model(None, ServiceSample(1.0, "http://pay", Fields({"status": "ok"})))
    model = FrameModel(build_node_model(sample(1.0), sample(2.0), WALL), service)
    lines = draw_frame(model, FrameOptions(width, height, ascii_only=ascii_only), WALL)
    assert len(lines) == max(height, 2)
    assert max(line.cell_len for line in lines) <= width
    assert all(line.plain.isascii() for line in lines) or not ascii_only


def test_footer_counts_the_lines_that_do_not_fit() -> None:
    whole = node_frame(None, sample(1.0))
    cut = node_frame(None, sample(1.0), height=24, is_paused=True)
    assert cut[:23] == whole[:23]
    assert cut[23] == f"q quit  p paused  s sort by time  {len(whole) - 23} more lines: enlarge the terminal"


def test_unreachable_node_shows_the_reason_alone() -> None:
    assert node_frame(None, NodeSample(1.0, "http://node", fault="timeout")) == [
        "http://node  unreachable",
        "timeout  retrying",
    ]


def test_node_without_metrics_shows_what_json_rpc_has() -> None:
    lines = node_frame(None, sample(1.0, None, metrics_fault="HTTP 404"))
    assert "no /metrics: HTTP 404" in lines
    assert "STEPS" in lines
    assert "LANES" not in lines


def hostile_model() -> FrameModel:
    status = dict.fromkeys(("block", "index", "hash", "role", "phase", "reason", "age", "lag", "latest"), HOSTILE) | {
        "pool": {"pooled": HOSTILE},
        "store": [HOSTILE],
        "cluster": {
            "name": HOSTILE,
            "role": HOSTILE,
            "owner": HOSTILE,
            "quorum": {"ok": HOSTILE, "findings": [{"code": HOSTILE}, HOSTILE]},
            "followers": [{"name": HOSTILE, "role": HOSTILE, "lag": 1}],
        },
    }
    label = HOSTILE.replace("\n", "\\n")
    labels = ",".join(f'{name}="{label}"' for name in ("lane", "cache", "follower", "role", "method", "reason"))
    metrics = "".join(
        f"{name}{{{labels}}} 5\n"
        for name in (
            *("foreseal_lane_waiting", "foreseal_cache_bytes", "foreseal_cache_hits_total", "foreseal_follower_lag"),
            *("foreseal_call_seconds_count", "foreseal_refused_total", "foreseal_pool_dropped_total"),
        )
    )
    first = sample(1.0, "", status=Fields(status), block=BLOCK)
    node = build_node_model(first, sample(2.0, metrics, status=Fields(status)), WALL)
    problem = {"code": HOSTILE, "message": HOSTILE}
    health = {
        "status": HOSTILE,
        "reasons": [problem],
        "merchants": {HOSTILE: {"status": HOSTILE, "reasons": [problem]}},
    }
    pay = parse_metrics(
        f'foreseal_pay_node_breaker{{state="{label}"}} 1\n'
        f'foreseal_pay_transitions_total{{object="order",event="{label}"}} 5\n'
    )
    before = ServiceSample(1.0, "http://pay", metrics=parse_metrics("a 1"))
    service = build_service_model(before, ServiceSample(2.0, "http://pay", Fields(health), pay))
    return FrameModel(node, service)


@pytest.mark.parametrize("is_terminal", [False, True])
def test_hostile_texts_reach_the_terminal_without_control_characters(is_terminal: bool) -> None:
    output = StringIO()
    colors = "standard" if is_terminal else None
    console = Console(file=output, force_terminal=is_terminal, width=400, color_system=colors, highlight=False)
    print_frame(hostile_model(), console)
    text = output.getvalue()
    assert text.count("[red]x[/red]") >= 8
    assert "owned" in text
    assert not {"\x07", "\r", "\u202e", "\x9b"}.intersection(text)
    # Only sequences of the view's own styles.
    assert all(part.partition("m")[0].strip("[0123456789;") == "" for part in text.split("\x1b")[1:])
    assert "\x1b]" not in text
    assert "\x1b[2J" not in text
    assert ("\x1b" in text) == is_terminal


def test_strip_shows_gas_per_step_and_withdrawn_steps() -> None:
    assert strip(BLOCK, 10, ascii_only=False).plain == "▁▃█x"
    assert strip(BLOCK, 2, ascii_only=True).plain == "#x"
    gap = OpenBlock(1, newest=5, steps={4: StepTotals(5, 1), 5: StepTotals(9, 2)})
    assert strip(gap, 10, ascii_only=False).plain == "?█"


@pytest.mark.parametrize(("filled", "shown"), [(0, "----"), (0.5, "##--"), (1, "####"), (7, "####"), (-1, "----")])
def test_bar_is_clamped(filled: float, shown: str) -> None:
    assert bar(filled, 4, ascii_only=True).plain == shown
