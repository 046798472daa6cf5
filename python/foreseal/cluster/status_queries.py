"""Queries of the status of several processes at a time, each of which may be slow, absent or malicious."""

import queue
import threading
import time
from collections.abc import Callable, Sequence

from foreseal.cluster.rpc_endpoint import RpcAnswer, RpcEndpoint
from foreseal.errors import NodeError

_THREADS = 64

Connect = Callable[[str], RpcEndpoint]
"""Makes an endpoint of a URL. Raises ValueError if it is not usable."""


def query_statuses(urls: Sequence[str], connect: Connect, timeout: float) -> list[RpcAnswer | str]:
    """Return the status of each process, or the reason why there is none, after at most `timeout` seconds.

    A status is a JSON object; its members are unchecked.
    """
    answers: list[RpcAnswer | str] = [f"{url} has not answered for {timeout:.0f} s" for url in urls]
    pending: queue.SimpleQueue[int] = queue.SimpleQueue()
    for position in range(len(urls)):
        pending.put(position)
    end = time.monotonic() + timeout

    def work() -> None:
        while time.monotonic() < end:
            try:
                position = pending.get_nowait()
            except queue.Empty:
                return
            answers[position] = _query(urls[position], connect)

    # An answer of one byte a second never reaches the timeout of its socket: the program ends without such threads.
    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(_THREADS, len(urls)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    return list(answers)


def _query(url: str, connect: Connect) -> RpcAnswer | str:
    try:
        answer = connect(url).call("foreseal_status")
    except NodeError as error:
        return error.message
    except ValueError:
        return f"{url or 'it'} has no usable RPC address"
    return answer if isinstance(answer.result, dict) else f"{url} returned a status that is not an object"
