"""Log lines of this process, in the same format as those of the core (`rust_core/py/src/log.rs`).

Text lines have time, level, process if there are several, source, message, fields. JSON has one object a line.
"""

import logging
import sys
from datetime import UTC, datetime
from typing import Any

import orjson

FORMATS = ("text", "json")
LEVELS = {
    "off": logging.CRITICAL + 1,
    "error": logging.ERROR,
    "warn": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
    "trace": logging.DEBUG // 2,
}

GRANIAN: dict[str, Any] = {
    "handlers": {},
    "formatters": {},
    "loggers": {
        name: {"level": "NOTSET", "handlers": [], "propagate": True} for name in ("_granian", "granian.access")
    },
}
"""Logging configuration for granian: its lines go to the same handlers as all others."""

# Standard attributes of a record; all others are fields.
_STANDARD_ATTRIBUTES = {*vars(logging.makeLogRecord({})), "message", "asctime"}


def parse_levels(text: str) -> str:
    """Check and normalize levels: one for all, then others by target; `warn,foreseal_node=debug`. Raises ValueError."""
    for entry in text.split(","):
        target, _, level = entry.strip().rpartition("=")
        if level.lower() not in LEVELS or ("=" in entry and not target):
            raise ValueError(f"{entry.strip()!r} is not a level: write one of {', '.join(LEVELS)}, or TARGET=LEVEL")
    return ",".join(entry.strip() for entry in text.split(","))


def configure_logs(levels: str, form: str, process: str | None = None) -> None:
    """Send the lines of all loggers at `levels` to standard error, in the format `text` or `json`.

    `process` is the name of this process if there are several.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(process) if form == "json" else TextLines(process))
    logging.basicConfig(handlers=[handler], level=LEVELS["warn"], force=True)
    logging.addLevelName(LEVELS["trace"], "TRACE")
    for entry in levels.split(","):
        target, _, level = entry.rpartition("=")
        logging.getLogger(target or None).setLevel(LEVELS[level.lower()])
    # An uncaught exception ends the process and is logged like any other error.
    sys.excepthook = _uncaught


def _uncaught(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    logging.getLogger("foreseal").critical("process ends", exc_info=(kind, error, trace))


def record_fields(record: logging.LogRecord) -> dict[str, Any]:
    """Return the fields of the record, without its standard attributes."""
    return {name: value for name, value in vars(record).items() if name not in _STANDARD_ATTRIBUTES}


def level_name(record: logging.LogRecord) -> str:
    """Return the record's level by the core's name."""
    if record.levelno >= logging.ERROR:
        return "ERROR"
    return "WARN" if record.levelno == logging.WARNING else record.levelname


def format_time(record: logging.LogRecord) -> str:
    """Return the record's time, RFC 3339 with milliseconds."""
    return datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{int(record.msecs):03}Z"


class _Lines(logging.Formatter):
    """Common part of both formats."""

    def __init__(self, process: str | None) -> None:
        super().__init__()
        self._process = process


class JsonLines(_Lines):
    """One JSON object a line: `time`, `level`, `target`, `message`, `process` if there are several, and the fields."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {"time": format_time(record), "level": level_name(record)}
        if self._process is not None:
            line["process"] = self._process
        line |= {"target": record.name, "message": record.getMessage()}
        line |= {name: value for name, value in record_fields(record).items() if name not in line}
        if record.exc_info:
            line["error"] = repr(record.exc_info[1])
            line["trace"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


class TextLines(_Lines):
    """One readable line, followed by the traceback of a failure."""

    def format(self, record: logging.LogRecord) -> str:
        process = "" if self._process is None else f"[{self._process}] "
        fields = "".join(f" {name}={_shown(value)}" for name, value in record_fields(record).items())
        line = f"{format_time(record)} {level_name(record):>5} {process}{record.name}: {record.getMessage()}{fields}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def _shown(value: Any) -> str:
    text = str(value)
    return text if text and not any(mark in text for mark in ' "=\n') else orjson.dumps(text).decode()
