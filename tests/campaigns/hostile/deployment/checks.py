"""Checks of a deployment: all processes reach the newest step and have equal answers, also after a restart."""

import subprocess
import time
from collections.abc import Callable, Sequence

from hostile.chain import Chain, pause, terminate
from hostile.deployment.answers import differences, faults, find_subject, read_answers, verify_proof
from hostile.deployment.deployment import Deployment
from hostile.deployment.lag import LagSampler
from hostile.deployment.merchant import PAYMENT_ERRORS
from hostile.deployment.peer import UNREACHABLE, NodePeer, newest_of, wait_for_peers
from hostile.deployment.results import Arrival, Comparison, DeploymentResult, Limits, RestartResult
from live.process import LiveNode

Attack = Callable[[], "subprocess.Popen[str]"]
"""Starts hostile clients."""
_STOP_TIME = 60.0
_POLL = 0.05


class DeploymentChecks:
    """Checks of one trial, in the order of the methods."""

    def __init__(self, deployment: Deployment, node: LiveNode, limits: Limits) -> None:
        self._deployment = deployment
        self._limits = limits
        self.node = node
        """The node under test: another process after a restart."""
        self.result = DeploymentResult(deployment.kinds)
        self._peers = deployment.peers(node)
        self._first = int(self._node_peer.rpc("eth_blockNumber"), 16) + 1
        self._sampler = LagSampler(self._peers)

    @property
    def _node_peer(self) -> NodePeer:
        peer = self._peers[0]
        assert isinstance(peer, NodePeer)
        return peer

    def catch_up(self) -> None:
        """Wait until all processes have reached the newest step; call it at the end of the attack."""
        self.result.lags = self._sampler.stop()
        self.result.arrivals = self._wait("after the attack")

    def compare(self) -> None:
        """Compare the answers of all processes, verify the proof, and make a payment."""
        try:
            self._add(self._deployment.lost_leadership(self._peers))
            self.result.comparison = self._compare()
        except UNREACHABLE as error:
            self._add(f"{self._node_peer.name}: {type(error).__name__}: {error}"[:300])
        self._pay()
        for ended in self._deployment.ended():
            self._add(ended)

    def restart(self, chain: Chain, options: Sequence[str], attack: Attack, seconds: float) -> None:
        """Stop the node `seconds` after the start of an attack, start it again, and compare its answers."""
        attacker = attack()
        try:
            pause(seconds)
            self._restart(chain, options)
        except UNREACHABLE as error:
            self._add(f"restart: {type(error).__name__}: {error}"[:300])
        except RuntimeError as error:
            self._add(f"the node did not start again: {str(error)[-300:]}")
        finally:
            attacker.kill()
            attacker.communicate()

    def close(self) -> None:
        """Close all connections."""
        self._sampler.stop()
        for peer in self._peers:
            peer.close()

    def _restart(self, chain: Chain, options: Sequence[str]) -> None:
        before = self._node_peer.rpc
        subject = find_subject(before, self._first)
        answers = {} if subject is None else read_answers(before, subject)
        newest = self._node_peer.newest()
        self.close()
        code, seconds = terminate(self.node, _STOP_TIME)
        self.result.restart = restart = RestartResult(code, round(seconds, 2), comparison=Comparison(subject, answers))
        if code is None:
            self._add(f"the node did not end within {_STOP_TIME:.0f} s of SIGTERM")
            self.node.kill()
        elif code != 0:
            self._add(f"the node ended with {code} on SIGTERM")
        begin = time.monotonic()
        self.node = chain.start(*options, port=int(self.node.url.rpartition(":")[2]))
        restart.ready_seconds = round(time.monotonic() - begin, 2)
        if restart.ready_seconds > self._limits.ready:
            self._add(f"ready {restart.ready_seconds:.1f} s after the start")
        self._peers = self._deployment.peers(self.node)
        distance = self._node_peer.behind(newest)
        self._add(f"the newest step before the stop is lost: {distance}" if distance else "")
        if subject is not None:
            again = read_answers(self._node_peer.rpc, subject)
            restart.comparison.failures = differences("the node after its restart", answers, again)
            self.result.failures += restart.comparison.failures
        restart.step_seconds = self._wait_for_step(newest.position)
        restart.arrivals = self._wait("after the restart")
        self._pay()

    def _wait_for_step(self, position: tuple[int, int]) -> float | None:
        begin = time.monotonic()
        while newest_of(self._peers).position <= position:
            if time.monotonic() - begin > self._limits.arrival:
                self._add(f"no step for {self._limits.arrival:.0f} s after the restart")
                return None
            time.sleep(_POLL)
        return round(time.monotonic() - begin, 2)

    def _wait(self, when: str) -> list[Arrival]:
        try:
            arrivals = wait_for_peers(self._peers, self._limits.arrival)
        except RuntimeError as error:
            self._add(str(error))
            return []
        for arrival in arrivals:
            if arrival.seconds is None:
                self._add(f"{arrival.peer} is behind {self._limits.arrival:.0f} s {when}: {arrival.behind}")
        return arrivals

    def _compare(self) -> Comparison:
        node = self._node_peer
        subject = find_subject(node.rpc, self._first)
        if subject is None:
            return Comparison(failures=["no transaction is sealed since the attack began"])
        # All processes must have sealed its block, not only its steps.
        self._wait("after the attack, before the comparison")
        answers = read_answers(node.rpc, subject)
        comparison = Comparison(subject, answers, faults(node.name, answers))
        invalid = verify_proof(node.rpc, subject)
        comparison.failures += [invalid] if invalid else []
        for peer in self._peers[1:]:
            if isinstance(peer, NodePeer):
                comparison.failures += self._differences(peer, comparison)
        self.result.failures += comparison.failures
        return comparison

    @staticmethod
    def _differences(peer: NodePeer, expected: Comparison) -> list[str]:
        assert expected.subject is not None
        try:
            return differences(peer.name, expected.answers, read_answers(peer.rpc, expected.subject))
        except UNREACHABLE as error:
            return [f"{peer.name} does not answer: {type(error).__name__}: {error}"[:200]]

    def _pay(self) -> None:
        merchant = self._deployment.merchant
        if merchant is None:
            return
        try:
            seconds = merchant.pay(self._limits.arrival)
            status = merchant.status()
        except PAYMENT_ERRORS as error:
            seconds, status = None, f"{type(error).__name__}: {error}"[:200]
        self.result.payments.append(seconds)
        self._add("" if seconds is not None else f"no payment within {self._limits.arrival:.0f} s: {status}")

    def _add(self, failure: str) -> None:
        if failure:
            self.result.failures.append(failure)
