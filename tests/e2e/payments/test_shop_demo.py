"""`foreseal pay demo --shop`: its links, its stop, its folder."""

import re
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from command import foreseal
from live.blocks import wait_for
from live.process import STOP_TIME, is_ok
from shop_demo import ShopDemo, shop_demo


def buy(demo: ShopDemo) -> str:
    """Create an order and return its id."""
    made = httpx.post(f"{demo.url}/products/lamp/orders", headers={"origin": demo.url}).json()
    match = re.search(r"/checkout/(lamp-\w+)#", made["checkout_url"])
    assert match is not None
    return match[1]


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_links_answer_and_a_signal_stops_all_processes(number: signal.Signals) -> None:
    with shop_demo() as demo:
        assert {"Shop", "Merchant", "Explorer", "Service API", "Node"} <= set(demo.links)
        for name, url in demo.links.items():
            assert is_ok(f"{url}/readyz" if name == "Node" else url), name
        children = demo.children()
        assert len(children) == 2
        (folder,) = re.findall(r"Files +(\S+)", demo.printed)
        demo.process.send_signal(number)
        assert demo.process.wait(STOP_TIME) == 0
        wait_for(lambda: demo.printed.endswith("stopped chain\n"), STOP_TIME, "the last line")
        stopped = re.findall(r"foreseal: stopped (\w+)", demo.printed)
        assert stopped == ["shop", "service", "chain"]
        assert not any(map(is_running, children))
        assert not Path(folder).exists()


def test_children_end_with_a_killed_demo() -> None:
    demo = ShopDemo()
    try:
        children = demo.children()
        assert len(children) == 2
        demo.process.kill()
        wait_for(lambda: not any(map(is_running, children)), STOP_TIME, "the end of the children")
    finally:
        demo.kill()


def test_datadir_keeps_orders_and_replaces_keys(tmp_path: Path) -> None:
    folder = tmp_path / "it's a shop"
    keys = []
    order = ""
    for run in range(2):
        with shop_demo("--datadir", str(folder)) as demo:
            keys += re.findall(r"pay_\w+", demo.printed)
            if run == 0:
                order = buy(demo)
            assert f"/orders/{order}" in httpx.get(demo.links["Merchant"]).text
            statuses = [_status(demo, key) for key in keys]
            assert statuses == [401] * run + [200]
    for name in ("payee.key", "webhook.secret"):
        assert (folder / name).stat().st_mode & 0o777 == 0o600


def _status(demo: ShopDemo, key: str) -> Any:
    return httpx.get(f"{demo.service}/v1/webhooks", headers={"authorization": f"Bearer {key}"}).status_code


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--shop", "--node", "http://127.0.0.1:1"), "--shop starts its own node"),
        (("--port", "1234"), "belong to --shop"),
        (("--datadir", "demo"), "belong to --shop"),
    ],
)
def test_options_that_exclude_each_other_are_rejected(arguments: tuple[str, ...], message: str) -> None:
    run = foreseal("pay", "demo", *arguments)
    assert run.returncode == 2
    assert message in run.stderr
