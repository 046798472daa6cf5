"""Hostile content of the chain is text: it is bounded, and no element results from it."""

import json
from typing import Any

import pytest
from eth_abi.abi import encode
from eth_utils.crypto import keccak
from playwright.sync_api import Page, expect

from browser.explorer import Explorer, ExplorerChain, call_data
from browser.rpc_interception import alter_answers
from live import DEV_ACCOUNTS

MARK = "injected-mark"
SCRIPT = f"<img src=x id={MARK} onerror=window.injected=1><script id={MARK}>window.injected=1</script>"
DISGUISE = "USD\u202e\u2066C\u200b\u0007\ufeff"
TEN_MEGABYTES = 10_000_000
MAX_TEXT = 50_000


def hostile_token(text: str) -> str:
    """Return creation code of a contract that answers every short call with `text`, and emits a transfer otherwise.

    Calls with two arguments emit `Transfer(caller, first argument, second argument)`, so that it appears as a token.
    """
    answer = encode(["string"], [text])
    transfer = keccak(text="Transfer(address,address,uint256)")
    # JUMPDEST MSTORE(0, calldataload(36)) LOG3(0, 32, transfer, caller, calldataload(4)) STOP
    emit = bytes.fromhex("5b602435600052600435337f") + transfer + bytes.fromhex("60206000a300")
    # CALLDATASIZE > 36: JUMP to `emit`; otherwise CODECOPY(0, answer), RETURN.
    head_size = 7 + 15
    head = bytes.fromhex("60243611") + bytes([0x60, head_size, 0x57])
    size, offset = len(answer).to_bytes(2), (head_size + len(emit)).to_bytes(2)
    head += b"\x61" + size + b"\x61" + offset + bytes.fromhex("600039") + b"\x61" + size + bytes.fromhex("6000f3")
    runtime = head + emit + answer
    # PUSH2 size DUP1 PUSH1 12 PUSH1 0 CODECOPY PUSH1 0 RETURN
    creation = b"\x61" + len(runtime).to_bytes(2) + bytes.fromhex("80600c6000396000f3")
    return "0x" + (creation + runtime).hex()


def wide_box(page: Page, selector: str) -> float:
    """Return the width of the widest element."""
    return float(page.locator(selector).evaluate_all("all => Math.max(...all.map((one) => one.offsetWidth))"))


def check_nothing_injected(page: Page) -> None:
    """Check that no element and no script resulted from the texts, and that the page shows a bounded amount of text."""
    assert page.locator(f"#{MARK}").count() == 0
    assert page.evaluate("window.injected") is None
    assert page.locator("main img, main script, main iframe").count() == 0
    text = page.locator("main").inner_text()
    assert len(text) < MAX_TEXT
    assert not set(DISGUISE[3:]) - {"C"} & set(text)


@pytest.mark.parametrize("text", [SCRIPT, DISGUISE, "W" * 20_000], ids=["script", "disguise", "long"])
def test_token_name_is_text(explorer: Explorer, chain: ExplorerChain, text: str) -> None:
    token = chain.deploy_code(hostile_token(text))
    holder = "0x" + keccak(text=text)[12:].hex()
    chain.included(to=token, data=call_data("transfer(address,uint256)", holder, 5), gas=200_000)
    with explorer.opened(f"/address/{holder}") as page:
        rows = page.get_by_role("table", name="Token transfers").locator("tbody tr")
        expect(rows).to_have_count(1)
        expect(rows.locator(".token a")).to_be_visible()
        if text != "W" * 20_000:
            expect(rows.locator(".token strong")).to_be_visible()
        check_nothing_injected(page)
        page.get_by_role("tab", name="Tokens", exact=True).click()
        expect(page.get_by_role("table", name="ERC-20 tokens")).to_be_visible()
        check_nothing_injected(page)


@pytest.mark.parametrize("text", ["\ufdfd" * 40, "\u3164" * 40, "a" + "\u0301" * 90], ids=["wide", "fillers", "marks"])
def test_token_without_valid_decimals_has_units_and_a_short_name(
    explorer: Explorer, chain: ExplorerChain, text: str
) -> None:
    token = chain.deploy_code(hostile_token(text))
    holder = "0x" + keccak(text=f"units {text}")[12:].hex()
    digest = chain.included(to=token, data=call_data("transfer(address,uint256)", holder, 5_000_000), gas=200_000)
    with explorer.opened(f"/address/{holder}") as page:
        row = page.get_by_role("table", name="Token transfers").locator("tbody tr")
        # The contract answers decimals() with a text.
        expect(row).to_contain_text("5\u202f000\u202f000 units")
        if text[0] == "\u3164":
            expect(row.locator(".token strong")).to_have_count(0)
        else:
            assert wide_box(page, ".token strong") <= 256
        page.goto(explorer.address(f"/tx/{digest}"))
        expect(page.locator(".token-transfers")).to_contain_text("5\u202f000\u202f000 units")
        check_nothing_injected(page)


def test_name_of_ten_megabytes_is_bounded(explorer: Explorer, chain: ExplorerChain) -> None:
    token = chain.deploy_code(hostile_token("small"))
    holder = DEV_ACCOUNTS[13].address
    chain.included(to=token, data=call_data("transfer(address,uint256)", holder, 5), gas=200_000)
    huge = "0x" + encode(["string"], ["A" * (TEN_MEGABYTES // 2)]).hex()

    def alter(answer: dict[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": answer["id"], "result": huge}

    with explorer.opened("/status") as page:
        alter_answers(page, "eth_call", alter)
        page.goto(explorer.address(f"/address/{holder}"))
        expect(page.get_by_role("table", name="Token transfers").locator("tbody tr")).to_have_count(1)
        check_nothing_injected(page)


@pytest.mark.parametrize("field", ["input", "log"])
def test_data_of_ten_megabytes_is_bounded(explorer: Explorer, chain: ExplorerChain, field: str) -> None:
    token = chain.deploy_code(hostile_token("small"))
    digest = chain.included(to=token, data=call_data("transfer(address,uint256)", token, 5), gas=200_000)
    huge = "0x" + "ab" * (TEN_MEGABYTES // 2)
    # The page reads a transaction again whenever its status changes.
    chain.wait_for_status(digest, "sealed")

    def alter(answer: dict[str, Any]) -> dict[str, Any]:
        result = answer["result"]
        if field == "log":
            result["logs"][0]["data"] = huge
        else:
            result["input"] = huge
        return answer

    with explorer.opened("/status") as page:
        method = "eth_getTransactionReceipt" if field == "log" else "eth_getTransactionByHash"
        alter_answers(page, method, alter)
        page.goto(explorer.address(f"/tx/{digest}" + ("?tab=logs" if field == "log" else "")))
        expect(page.get_by_text("more bytes are not shown")).to_be_visible()
        check_nothing_injected(page)


def test_calldata_and_logs_are_text(explorer: Explorer, chain: ExplorerChain) -> None:
    abi = [
        {"type": "function", "name": "note", "inputs": [{"name": SCRIPT, "type": "string"}]},
        {"type": "event", "name": "Noted", "inputs": [{"name": DISGUISE, "type": "string"}]},
    ]
    # LOG1(0, size, topic) of the whole string in the data of the call.
    topic = keccak(text="Noted(string)")
    runtime = bytes.fromhex("6004360360046000377f") + topic + bytes.fromhex("60043603" + "6000a100")
    creation = b"\x60" + bytes([len(runtime)]) + bytes.fromhex("80600b6000396000f3") + runtime
    address = chain.deploy_code("0x" + creation.hex())
    digest = chain.included(to=address, data=call_data("note(string)", SCRIPT + DISGUISE), gas=500_000)
    with explorer.opened(f"/address/{address}?tab=contract") as page:
        page.get_by_text("Use another ABI").click()
        page.get_by_label("ABI").fill(json.dumps(abi))
        page.get_by_role("button", name="Use this ABI").click()
        function = page.locator("details.function", has_text="note")
        function.locator("summary").click()
        expect(function.locator("label")).to_contain_text("<img src=x")
        check_nothing_injected(page)
        for tab in ("", "?tab=logs", "?tab=trace"):
            page.goto(explorer.address(f"/tx/{digest}{tab}"))
            panel = page.get_by_role("tabpanel")
            if tab == "?tab=trace":
                panel.get_by_text("Details").first.click()
            expect(panel.locator(".text-value").first).to_contain_text(SCRIPT)
            check_nothing_injected(page)


@pytest.mark.parametrize("name", [SCRIPT, "a\u202eb", "x" * 100_000, "__proto__"])
def test_hostile_name_in_an_abi_is_rejected_or_text(explorer: Explorer, chain: ExplorerChain, name: str) -> None:
    token = chain.deploy_code(hostile_token("small"))
    abi = json.dumps([{"type": "function", "name": name, "inputs": [], "outputs": [], "stateMutability": "view"}])
    with explorer.opened(f"/address/{token}?tab=contract") as page:
        page.get_by_text("Use another ABI").click()
        page.get_by_label("ABI").evaluate(
            "(field, text) => { field.value = text; field.dispatchEvent(new Event('input', {bubbles: true})); }", abi
        )
        page.get_by_role("button", name="Use this ABI").click()
        expect(page.locator("[role=alert], details.function").first).to_be_visible()
        check_nothing_injected(page)


@pytest.mark.parametrize("path", [f"/search?q={SCRIPT}", f"/block/{SCRIPT}", f"/tx/{SCRIPT}", f"/address/{SCRIPT}"])
def test_hostile_address_of_a_page_is_text(explorer: Explorer, path: str) -> None:
    with explorer.opened(path.replace("<", "%3C").replace(">", "%3E").replace("/script", "%2Fscript")) as page:
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        check_nothing_injected(page)
