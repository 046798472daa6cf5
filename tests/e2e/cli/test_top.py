"""`foreseal top` with a real node: one frame, a terminal with keys and sizes, and a node that stops and returns."""

import re
from pathlib import Path

import pytest

from command import foreseal
from foreseal.ports import next_free_port
from live import DEV_ACCOUNTS, LiveNode, live_node, wait_for
from live.process import foreseal_command
from live.sending import Sender
from payments.api.serving import api_key, configure, serving
from terminal import SECONDS, terminal

ALTERNATE_SCREEN_ON, ALTERNATE_SCREEN_OFF = "\x1b[?1049h", "\x1b[?1049l"
COLOR = re.compile(r"\x1b\[[0-9;]*3[0-7]m")


def send(node: LiveNode, count: int) -> None:
    sender = Sender(node.rpc, DEV_ACCOUNTS[5])
    for _ in range(count):
        sender.send(to=DEV_ACCOUNTS[6].address, value=1)


def test_once_prints_a_frame_with_the_figures_of_the_node() -> None:
    with live_node("--block-time", "30s") as node:
        # Steps continue, and the block stays pending for the comparison.
        node.rpc("evm_setIntervalMining", 0)
        send(node, 4)

        def has_all() -> bool:
            return len(node.rpc("eth_getBlockByNumber", "pending", False)["transactions"]) == 4

        wait_for(has_all, SECONDS, "all transactions")
        ended = foreseal("top", node.url, "--once")
        pending = node.rpc("eth_getBlockByNumber", "pending", False)
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    assert lines[0].startswith(f"{node.url}  chain 31337  sequencer  producing")
    assert max(map(len, lines)) <= 80
    (steps,) = [line for line in lines if line.startswith("block ")]
    assert steps.startswith(f"block {int(pending['number'], 16)}  step ")
    assert f"  tx {len(pending['transactions'])}  " in steps
    titles = [line for line in lines if line.isupper()]
    assert titles == ["STEPS", "POOL", "LANES", "CALLS", "JOURNAL AND STORE", "CACHES"]
    assert re.search(r"^foreseal_status +\d", ended.stdout, re.MULTILINE)
    assert "\x1b" not in ended.stdout


def test_unreachable_node_is_named_with_exit_code_1() -> None:
    ended = foreseal("top", f"http://127.0.0.1:{next_free_port()}")
    assert (ended.returncode, ended.stderr) == (1, "")
    assert "unreachable\nConnection refused" in ended.stdout


def test_terminal_is_restored_after_q_and_follows_its_size() -> None:
    with live_node() as node, terminal([foreseal_command(), "top", node.url, "--interval", "200ms"]) as view:
        lines = view.wait_for_text("STEPS")
        assert len(lines) <= 24
        assert max(map(len, lines)) <= 80
        assert "more lines: enlarge the terminal" in lines[-1]
        assert not view.echoes()
        view.resize(200, 60)

        def find_wide() -> list[str] | None:
            screen_lines = view.screen()
            beside = any("STEPS" in line and "POOL" in line for line in screen_lines)
            return screen_lines if beside and any("CACHES" in line for line in screen_lines) else None

        wide = wait_for(find_wide, SECONDS, "sections beside each other", lambda: "\n".join(view.screen()))
        assert max(map(len, wide)) <= 200
        view.press("p")
        view.wait_for_text("p paused")
        view.press("s")
        view.wait_for_text("sort by calls")
        view.press("q")
        assert view.process.wait(SECONDS) == 0
        assert view.echoes()
    assert view.printed.index(ALTERNATE_SCREEN_ON) < view.printed.index(ALTERNATE_SCREEN_OFF)
    assert COLOR.search(view.printed)


def test_no_color_prints_no_colors() -> None:
    with live_node() as node, terminal([foreseal_command(), "top", node.url], NO_COLOR="1") as view:
        view.wait_for_text("STEPS")
        view.press("q")
        assert view.process.wait(SECONDS) == 0
    assert not COLOR.search(view.printed)


def test_view_recovers_when_the_node_restarts(tmp_path: Path) -> None:
    port = str(next_free_port())
    chain = ("--datadir", str(tmp_path), "--port", port)
    with terminal([foreseal_command(), "top", f"http://127.0.0.1:{port}", "--interval", "200ms"]) as view:
        view.wait_for_text("unreachable")
        for _ in range(2):
            with live_node(*chain):
                view.wait_for_text("producing")
            view.wait_for_text("Connection refused")
        view.press("q")
        assert view.process.wait(SECONDS) == 0


@pytest.mark.parametrize("has_key", [False, True])
def test_payments_of_a_service_are_shown(tmp_path: Path, has_key: bool) -> None:
    with live_node("--payments") as node:
        config = configure(tmp_path, node.url, f"sqlite:///{tmp_path}/pay.db")
        key = tmp_path / "api.key"
        key.write_text(api_key(config, "reader"))
        with serving(config) as service:
            options = ["--pay-key-file", str(key)] if has_key else []
            ended = foreseal("top", node.url, "--pay", service.url, *options, "--once")
    assert (ended.returncode, ended.stderr) == (0, "")
    section = ended.stdout.partition(f"PAYMENTS  {service.url}\n")[2]
    assert section.startswith("ok  node up  breaker closed")
    assert "webhooks waiting 0  dead 0" in section.replace("\n", "  ")
    assert ("0 orders:" in section) == has_key
