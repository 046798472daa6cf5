"""Client of the JSON gateway of one etcd member: reads, writes, alarms, and a watch."""

import base64
import http.client
import json
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

_JSON = {"Content-Type": "application/json"}


class EtcdGatewayError(Exception):
    """The member did not answer, or it rejected the request."""


class EtcdCompactedError(EtcdGatewayError):
    """The history from the start of a watch on is no longer complete."""

    def __init__(self, endpoint: str, revision: int) -> None:
        """`revision` is the oldest one that the member has."""
        super().__init__(f"{endpoint}: revisions before {revision} are compacted")
        self.revision = revision


@dataclass(frozen=True, slots=True)
class EtcdEntry:
    """Value of a key at a revision; `value` is None if the key was deleted then."""

    key: bytes
    value: bytes | None
    revision: int


class EtcdGateway:
    """Client of one member; each call opens a connection, so that a broken one has no effect on the next."""

    def __init__(self, endpoint: str, timeout: float = 60.0) -> None:
        """`endpoint` is HOST:PORT; `timeout` limits each socket operation, in seconds, by default for a busy disk."""
        self.endpoint = endpoint
        self._timeout = timeout

    def put(self, key: bytes, value: bytes) -> int:
        """Write a key and return the revision. Raises EtcdGatewayError."""
        answer = self.call("kv/put", {"key": _encode(key), "value": _encode(value)})
        return int(answer["header"]["revision"])

    def range(self, prefix: bytes, *, keys_only: bool = False, revision: int = 0) -> list[EtcdEntry]:
        """Return the keys with this prefix and their values, now or as of a revision. Raises EtcdGatewayError."""
        request = {
            "key": _encode(prefix),
            "range_end": _encode(end_of_prefix(prefix)),
            "keys_only": keys_only,
            "revision": str(revision),
        }
        return [_entry(each) for each in self.call("kv/range", request).get("kvs", ())]

    def transaction(self, comparisons: list[tuple[bytes, int]], puts: list[tuple[bytes, bytes]]) -> tuple[bool, int]:
        """Write `puts` if each key has its revision, 0 if absent. Return True if it did, and the revision."""
        compare = [
            {"key": _encode(key), "target": "MOD", "result": "EQUAL", "mod_revision": str(revision)}
            for key, revision in comparisons
        ]
        success = [{"request_put": {"key": _encode(key), "value": _encode(value)}} for key, value in puts]
        answer = self.call("kv/txn", {"compare": compare, "success": success})
        return bool(answer.get("succeeded", False)), int(answer["header"]["revision"])

    def delete(self, prefix: bytes) -> int:
        """Delete the keys with this prefix and return the revision. Raises EtcdGatewayError."""
        answer = self.call("kv/deleterange", {"key": _encode(prefix), "range_end": _encode(end_of_prefix(prefix))})
        return int(answer["header"]["revision"])

    def compact(self, revision: int) -> None:
        """Discard the history below a revision, which may be gone already. Raises EtcdGatewayError."""
        try:
            self.call("kv/compaction", {"revision": str(revision), "physical": True})
        except EtcdGatewayError as error:
            if "has been compacted" not in str(error):
                raise

    def defragment(self) -> None:
        """Return the free space of the member's database to the disk. Raises EtcdGatewayError."""
        self.call("maintenance/defragment", {})

    def disarm(self) -> None:
        """Disarm all alarms. Raises EtcdGatewayError."""
        for alarm in self.call("maintenance/alarm", {"action": "GET"}).get("alarms", ()):
            self.call("maintenance/alarm", {**alarm, "action": "DEACTIVATE"})

    def status(self) -> dict[str, Any]:
        """Return version, database size, leader and member id of the member. Raises EtcdGatewayError."""
        return self.call("maintenance/status", {})

    def is_leader(self) -> bool:
        """Return True if the member answers and leads the cluster."""
        try:
            status = self.status()
        except EtcdGatewayError:
            return False
        return str(status.get("leader")) == str(status["header"]["member_id"])

    def watch(self, prefix: bytes, start_revision: int) -> Generator[EtcdEntry, None, None]:
        """Yield the changes of keys with this prefix, from a revision on.

        Raises EtcdGatewayError when it ends, EtcdCompactedError if the revision is compacted.
        """
        request = {
            "create_request": {
                "key": _encode(prefix),
                "range_end": _encode(end_of_prefix(prefix)),
                "start_revision": str(start_revision),
            }
        }
        connection = self._connect()
        try:
            connection.request("POST", "/v3/watch", json.dumps(request), _JSON)
            response = connection.getresponse()
            while line := response.readline():
                message = json.loads(line)
                result = message.get("result")
                # Members of version 3.4 give no reason besides this number.
                if compacted := int((result or {}).get("compact_revision", 0)):
                    raise EtcdCompactedError(self.endpoint, compacted)
                if result is None or result.get("canceled"):
                    raise EtcdGatewayError(f"{self.endpoint}: the watch was cancelled: {line.decode().strip()}")
                yield from (_event(each) for each in result.get("events", ()))
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise EtcdGatewayError(f"{self.endpoint}: {error!r}") from None
        finally:
            connection.close()
        raise EtcdGatewayError(f"{self.endpoint}: the watch ended")

    def call(self, path: str, request: dict[str, Any]) -> dict[str, Any]:
        """Call a method of the gateway by its path below `/v3/`. Raises EtcdGatewayError."""
        connection = self._connect()
        try:
            connection.request("POST", f"/v3/{path}", json.dumps(request), _JSON)
            response = connection.getresponse()
            answer = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise EtcdGatewayError(f"{self.endpoint}: {error!r}") from None
        finally:
            connection.close()
        if response.status != http.client.OK:
            raise EtcdGatewayError(f"{self.endpoint}: {answer.get('error') or answer}")
        return dict(answer)

    def _connect(self) -> http.client.HTTPConnection:
        host, _, port = self.endpoint.rpartition(":")
        return http.client.HTTPConnection(host, int(port), timeout=self._timeout)


def end_of_prefix(prefix: bytes) -> bytes:
    """Return the first key after all keys with a prefix."""
    trimmed = prefix.rstrip(b"\xff")
    return trimmed[:-1] + bytes([trimmed[-1] + 1]) if trimmed else b"\0"


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _entry(pair: dict[str, Any]) -> EtcdEntry:
    value = base64.b64decode(pair.get("value", ""))
    return EtcdEntry(base64.b64decode(pair["key"]), value, int(pair["mod_revision"]))


def _event(event: dict[str, Any]) -> EtcdEntry:
    entry = _entry(event["kv"])
    return EtcdEntry(entry.key, None, entry.revision) if event.get("type") == "DELETE" else entry
