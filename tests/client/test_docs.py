"""The examples of docs/client.md, as they are printed there."""

import re
from pathlib import Path
from typing import Any

from foreseal.client import Place
from live import DEV_ACCOUNTS, LiveNode
from live.sending import signed

PAGE = Path(__file__).parents[2] / "docs" / "client.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def test_the_examples_work(node: LiveNode, capsys: Any) -> None:
    genesis = node.rpc("eth_getBlockByNumber", "0x0", False)["hash"]
    names: dict[str, Any] = {
        "url": node.url,
        "ws_url": node.url.replace("http", "ws"),
        "signed": [signed(DEV_ACCOUNTS[0], nonce) for nonce in range(2)],
        "saved": Place(0, 0, genesis),
    }
    printed = []
    for example in EXAMPLES:
        exec(example, names)
        printed.append(capsys.readouterr().out)
    sealing, pending, followed, chain = printed
    assert re.fullmatch(r"True \d+ 21000\n\d+ 0x[0-9a-f]{64} \d+\n", sealing)
    assert re.fullmatch(r"(preconfirmed|sealed) \d+ \d+ 0\n", pending)
    assert followed == ""
    assert len(names["seen"]) == 5
    assert names["saved"].hash == names["seen"][-1]
    assert chain == "[(1, 1), (2, 0)]\n"
