"""Roles of a supervised process: the sequencer, or a worker."""

import socket
from collections.abc import Callable
from typing import Any

from foreseal.errors import NodeError
from foreseal.server import App, interpreter
from foreseal.server.processes.heartbeat import HeartbeatSender
from foreseal.server.processes.process_table import ProcessTable
from foreseal.server.processes.shared_socket import SharedSocket
from foreseal.server.runner import serve_admin_only, serve_shared
from foreseal.supervisor.bootstrap import BootstrapMessage, ReportPipe
from foreseal.supervisor.exit_status import FAILED, USAGE_ERROR


def run_role(message: BootstrapMessage, make_node: Callable[[bytes], Any] | None) -> int:
    """Run the role of this process until it is stopped. Return the exit code."""
    interpreter.configure_interpreter(message.settings.log)
    report = ReportPipe(message.report)
    heartbeats = HeartbeatSender(report.heartbeat, message.heartbeat_interval)
    processes = None if message.processes is None else ProcessTable(message.processes)
    explorer = None if message.explorer_socket is None else socket.socket(fileno=message.explorer_socket)
    app = App(
        message.settings,
        make_node,
        message.role,
        message.buckets,
        heartbeats=heartbeats,
        processes=processes,
        explorer=explorer,
    )
    try:
        if message.socket is None:
            serve_admin_only(app, lambda: report.opened(app.admin_url), report.ready)
        else:
            shared = SharedSocket(socket.socket(fileno=message.socket))
            listen = message.settings.listen
            serve_shared(app, shared, lambda: report.opened(None), report.ready, listen.tls)
    except NodeError as error:
        report.failed(error)
        return USAGE_ERROR if error.is_usage_error else FAILED
    except OSError as error:
        report.failed(NodeError("system", str(error)))
        return FAILED
    return 0
