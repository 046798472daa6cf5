"""Log lines of Python, in the format of the core's lines."""

import io
import json
import logging
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from foreseal.server.logs import JsonLines, TextLines, parse_levels
from live import LiveNode, live_node, wait_for
from live.process import foreseal_command

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z +(ERROR|WARN|INFO|DEBUG|TRACE) (\[one\] )?[\w.:]+: .+")


@pytest.fixture
def logger() -> Iterator[tuple[logging.Logger, io.StringIO, logging.Handler]]:
    """Provide a logger, its output and the handler with the formatter."""
    made, text = logging.getLogger("foreseal.test"), io.StringIO()
    handler = logging.StreamHandler(text)
    made.addHandler(handler)
    made.setLevel(logging.DEBUG)
    yield made, text, handler
    made.removeHandler(handler)
    made.setLevel(logging.NOTSET)


def log_every_kind(logger: logging.Logger) -> None:
    """Log a line of every kind."""
    logger.warning("calls were running", extra={"calls": 3, "of": 'a "b"', "time": "mine"})
    logger.info("with %s", "an argument")
    try:
        int("no good")
    except ValueError:
        logger.exception("it failed", extra={"path": Path("/x y")})


def test_json_log_has_one_object_per_line(logger: tuple[logging.Logger, io.StringIO, logging.Handler]) -> None:
    made, text, handler = logger
    handler.setFormatter(JsonLines("one"))
    log_every_kind(made)
    records = [json.loads(line) for line in text.getvalue().splitlines()]
    assert [(line["level"], line["message"]) for line in records] == [
        ("WARN", "calls were running"),
        ("INFO", "with an argument"),
        ("ERROR", "it failed"),
    ]
    for line in records:
        assert (line["process"], line["target"]) == ("one", "foreseal.test")
        assert datetime.now(UTC) - datetime.fromisoformat(line["time"]) < timedelta(minutes=5)
    assert (records[0]["calls"], records[0]["of"]) == (3, 'a "b"')
    assert (records[2]["error"], records[2]["path"]) == (
        "ValueError(\"invalid literal for int() with base 10: 'no good'\")",
        "/x y",
    )
    assert 'int("no good")' in records[2]["trace"]


def test_text_log_is_readable(logger: tuple[logging.Logger, io.StringIO, logging.Handler]) -> None:
    made, text, handler = logger
    handler.setFormatter(TextLines(None))
    log_every_kind(made)
    first, second, third, *trace = text.getvalue().splitlines()
    assert all(LINE.fullmatch(line) for line in (first, second, third))
    assert first.endswith(r'foreseal.test: calls were running calls=3 of="a \"b\"" time=mine')
    assert third.endswith('it failed path="/x y"')
    assert trace[-1].startswith("ValueError: ")


@pytest.mark.parametrize("text", ["warn", "OFF", "info,foreseal_node=debug, foreseal.server=trace", "a=warn"])
def test_log_level_is_global_or_by_target(text: str) -> None:
    assert parse_levels(text).replace(",", ", ") == text.replace(", ", ",").replace(",", ", ")


@pytest.mark.parametrize("text", ["", "loud", "warn,", "=warn", "foreseal=loud"])
def test_an_invalid_log_level_is_reported(text: str) -> None:
    with pytest.raises(ValueError, match="is not a level: write one of off, error"):
        parse_levels(text)


def test_every_line_of_json_logs_is_json(tmp_path: Path) -> None:
    """Covers Python, Rust and the server in front, from start to end."""
    more = ("--log-format", "json", "--log-level", "debug", "--log-slow", "1ms", "--datadir", str(tmp_path / "data"))
    node = LiveNode([foreseal_command(), "dev", "--port", "0", *more])
    node.rpc("eth_sendTransaction", {"from": node.rpc("eth_accounts")[0]})
    node.rpc("evm_mine")
    assert node.stop() == 0
    records = [json.loads(line) for line in node.printed.splitlines() if line.startswith("{")]
    # The rest is the command's output on standard output.
    assert not [line for line in node.printed.splitlines() if re.match(r"\d{4}-|\[|Traceback|thread", line)]
    for line in records:
        assert {"time", "level", "target", "message"} <= set(line)
        assert datetime.fromisoformat(line["time"]).tzinfo is not None
    targets = {line["target"] for line in records}
    assert "foreseal_node::store::start" in targets
    assert any(line["message"] == "step is durable" and line["transactions"] == 1 for line in records)


def test_setup_for_blobs_is_loaded_before_the_first_blob_transaction(tmp_path: Path) -> None:
    with live_node("--log-level", "debug", "--datadir", str(tmp_path)) as node:
        wait_for(lambda: "loaded the trusted setup of blobs" in node.printed, 60, "the trusted setup")
