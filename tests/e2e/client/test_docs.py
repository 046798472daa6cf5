"""The examples of docs/build/client.md and docs/build/streams.md, unchanged."""

import re
from typing import Any

from foreseal.client import Cursor
from foreseal.client.methods import Methods
from live import DEV_ACCOUNTS, LiveNode
from live.sending import signed
from repository import DOCS


def examples(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)


def test_the_examples_work(node: LiveNode, capsys: Any) -> None:
    genesis = node.rpc("eth_getBlockByNumber", "0x0", False)["hash"]
    names: dict[str, Any] = {
        "url": node.url,
        "ws_url": node.url.replace("http", "ws"),
        "signed": [signed(DEV_ACCOUNTS[0], nonce) for nonce in range(2)],
        "saved": Cursor(0, 0, genesis),
    }
    printed = []
    for example in examples("build/client.md"):
        exec(example, names)
        printed.append(capsys.readouterr().out)
    sealing, pending, followed, chain = printed
    assert re.fullmatch(r"True \d+ 21000\n\d+ 0x[0-9a-f]{64} \d+\n", sealing)
    assert re.fullmatch(r"(preconfirmed|sealed) \d+ \d+ 0\n", pending)
    assert followed == ""
    assert len(names["seen"]) == 5
    assert names["saved"].hash == names["seen"][-1]
    assert chain == "[(1, 1), (2, 0)]\n"


def test_a_subscription_with_plain_websockets(node: LiveNode, capsys: Any) -> None:
    (example,) = examples("build/streams.md")
    url = "ws://127.0.0.1:8545"
    assert url in example
    exec(example.replace(url, node.url.replace("http", "ws")), {})
    answer, *notifications = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r'{"jsonrpc":"2.0","id":1,"result":"0x[0-9a-f]{32}"}', answer)
    assert len(notifications) == 3
    assert all(line.startswith("eth_subscription {") for line in notifications)


def test_every_typed_call_is_named() -> None:
    page = (DOCS / "build" / "client.md").read_text()
    named = [name for name in vars(Methods) if not name.startswith("_")]
    assert len(named) > 20
    assert [name for name in named if f"`{name}`" not in page and f"client.{name}(" not in page] == []
