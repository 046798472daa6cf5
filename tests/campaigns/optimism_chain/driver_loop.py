"""A thread in which a driver builds blocks until its node is killed."""

import http.client
import random
import threading

from optimism import Driver

# Minimum and maximum time of a payload, in seconds.
_PAYLOAD_TIME = (0.15, 0.7)
ABANDON_INTERVAL, GO_BACK_INTERVAL = 10, 2
"""One in `ABANDON_INTERVAL` payloads is abandoned; after one in `GO_BACK_INTERVAL` of these, the head goes back."""


class DriverLoop(threading.Thread):
    """Opens, abandons and seals payloads."""

    def __init__(self, driver: Driver, seed: int) -> None:
        super().__init__(daemon=True)
        self.failure: Exception | None = None
        """Error other than the end of the node."""
        self.sealed = self.abandoned = self.gone_back = 0
        self.sealing = threading.Event()
        """Set while a payload is finished and its block made the head."""
        self._driver = driver
        self._rng = random.Random(seed)
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Let the payload in progress end, and stop."""
        self._stopped.set()
        self.join()

    def run(self) -> None:
        """Build blocks until the node is killed, or until `stop`."""
        try:
            while not self._stopped.is_set():
                self._payload()
        except (OSError, http.client.HTTPException):
            # Killed: the next run continues with the chain of the restarted node.
            return
        except Exception as error:  # the waiting thread reports it
            self.failure = error

    def _payload(self) -> None:
        driver = self._driver
        driver.begin()
        self._stopped.wait(self._rng.uniform(*_PAYLOAD_TIME))
        if self._rng.randrange(ABANDON_INTERVAL) == 0:
            driver.abandon()
            self.abandoned += 1
            if driver.can_go_back and self._rng.randrange(GO_BACK_INTERVAL) == 0:
                driver.go_back()
                self.gone_back += 1
            return
        self.sealing.set()
        driver.seal()
        self.sealing.clear()
        self.sealed += 1
