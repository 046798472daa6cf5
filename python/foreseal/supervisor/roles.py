"""Roles of a supervised process: the sequencer, or a worker."""

import socket
from collections.abc import Callable
from typing import Any

from foreseal.errors import NodeError
from foreseal.server import App, interpreter
from foreseal.server.front import hold, serve_shared
from foreseal.server.heartbeat import HeartbeatSender
from foreseal.server.process_table import ProcessTable
from foreseal.server.shared import SharedSocket
from foreseal.supervisor.endings import FAILED, WRONG_USE
from foreseal.supervisor.handover import Handover, Report


def fill(handover: Handover, make_node: Callable[[bytes], Any] | None) -> int:
    """Run the role of this process until it is stopped. Return the exit code."""
    interpreter.set_up(handover.settings.log)
    report = Report(handover.report)
    heartbeats = HeartbeatSender(report.heartbeat, handover.heartbeat_interval)
    processes = None if handover.processes is None else ProcessTable(handover.processes)
    app = App(handover.settings, make_node, handover.role, handover.buckets, heartbeats=heartbeats, processes=processes)
    try:
        if handover.socket is None:
            hold(app, lambda: report.opened(app.admin_url), report.ready)
        else:
            shared = SharedSocket(socket.socket(fileno=handover.socket))
            listen = handover.settings.listen
            serve_shared(app, shared, lambda: report.opened(None), report.ready, listen.tls)
    except NodeError as error:
        report.failed(error)
        return WRONG_USE if error.wrong_use else FAILED
    except OSError as error:
        report.failed(NodeError("system", str(error)))
        return FAILED
    return 0
