"""A thread in which a driver builds blocks until its node is killed."""

import http.client
import random
import threading

from optimism import Driver

# Seconds of a payload.
PAYLOAD_TIME = (0.15, 0.7)
# One in this many payloads is abandoned; after one in `GONE_BACK` of these, the head goes back as well.
ABANDONED, GONE_BACK = 10, 2


class DriverLoop(threading.Thread):
    """Opens, abandons and seals payloads."""

    def __init__(self, driver: Driver, seed: int) -> None:
        super().__init__(daemon=True)
        self.failure: BaseException | None = None
        """Error that is not the end of the node."""
        self.sealed = self.abandoned = self.gone_back = 0
        self.sealing = threading.Event()
        """Set while a block is taken and made the head."""
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
            # Killed: the next run continues with what the node has then.
            return
        except BaseException as error:  # the waiting thread reports it
            self.failure = error

    def _payload(self) -> None:
        driver = self._driver
        driver.begin()
        self._stopped.wait(self._rng.uniform(*PAYLOAD_TIME))
        if self._rng.randrange(ABANDONED) == 0:
            driver.abandon()
            self.abandoned += 1
            if driver.head.number > driver.safe and self._rng.randrange(GONE_BACK) == 0:
                driver.go_back()
                self.gone_back += 1
            return
        self.sealing.set()
        driver.seal()
        self.sealing.clear()
        self.sealed += 1
