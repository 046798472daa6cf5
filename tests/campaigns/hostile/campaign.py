"""All chosen patterns against nodes of a build, one after the other."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import trustme

from hostile.build import Build
from hostile.chain import Chain, kill_quietly
from hostile.deployment.checks import DeploymentChecks
from hostile.deployment.deployment import Deployment, alloc_of
from hostile.deployment.results import line_of
from hostile.patterns import PATTERNS, Pattern
from hostile.trial import DEFAULT_BOUNDS, Bounds, Trial, attack, heading, row, run_trial
from hostile.watch import Watch
from live.group import group_of
from live.process import LiveNode

WARM_UP = 3.0
"""Seconds before the first measurement of a node."""


@dataclass
class Plan:
    """Trials to run, and their lengths."""

    patterns: Sequence[str]
    addresses: Sequence[int] = (1,)
    transports: Sequence[str] = ("native", "asgi")
    seconds: float = 5.0
    calm: float = 4.0
    bounds: Bounds = DEFAULT_BOUNDS
    options: tuple[str, ...] = ()
    """Additional options of the node."""
    deployment: tuple[str, ...] = ()
    """Kinds of processes that run with the node, and a restart: see `hostile.deployment.kinds`."""


@dataclass
class Running:
    """A node under test, and its honest clients."""

    node: LiveNode
    chain: Chain
    deployment: Deployment
    options: tuple[str, ...]
    """Options of the node, without those of its deployment."""
    watch: Watch

    @property
    def folder(self) -> Path:
        """Folder of the chain and of the facts for clients."""
        return self.chain.folder

    def start_again(self) -> tuple[str, ...]:
        """Return the options of the node's next start."""
        return (*self.options, *self.deployment.node_options(is_restart=True))


@dataclass
class Campaign:
    """Runs a plan; `trials` has the results so far."""

    build: Build
    plan: Plan
    trials: list[Trial] = field(default_factory=list)
    on_trial: Callable[[], None] = lambda: None
    """Called after each trial."""
    quiet: bool = False

    def run(self) -> list[Trial]:
        """Run every pattern on every transport with every number of addresses."""
        self._print(heading())
        for transport in self.plan.transports:
            for tls in (False, True):
                chosen = [PATTERNS[name] for name in self.plan.patterns]
                chosen = [each for each in chosen if each.tls == tls and transport in each.transports]
                self._run_on(transport, chosen, tls=tls)
        return self.trials

    def _run_on(self, transport: str, patterns: Sequence[Pattern], *, tls: bool) -> None:
        work = [(pattern, count) for pattern in patterns for count in self.plan.addresses]
        while work:
            with running(self.build, transport, self.plan, tls=tls) as node:
                while work:
                    pattern, addresses = work.pop(0)
                    trial = self._try(node, transport, pattern, addresses)
                    if trial.failures or node.deployment.restarts:
                        # The next pattern must not inherit the effects of this one; a restart ended its measurements.
                        break

    def _try(self, running: Running, transport: str, pattern: Pattern, addresses: int) -> Trial:
        bounds = self.plan.bounds
        if pattern.group.startswith("chain-"):
            bounds = bounds.with_chain_data()
        checks = None
        if self.plan.deployment:
            checks = DeploymentChecks(running.deployment, running.node, bounds.deployment)
        trial = run_trial(
            running.watch,
            running.folder,
            pattern.name,
            transport,
            addresses,
            seconds=self.plan.seconds,
            calm=self.plan.calm,
            bounds=bounds,
            on_ended=checks.catch_up if checks else lambda: None,
        )
        if checks is not None:
            self._check(running, checks, trial)
        code = running.node.process.poll()
        if code is not None:
            trial.failures.insert(0, f"the node ended with {code}")
        if "panic" in running.node.printed:
            trial.failures.insert(0, "the node panicked")
        self.trials.append(trial)
        self._print(row(trial))
        if trial.deployment is not None:
            self._print(line_of(trial.deployment))
        self.on_trial()
        return trial

    def _check(self, running: Running, checks: DeploymentChecks, trial: Trial) -> None:
        """Compare the processes of the deployment, and restart the node if that is part of it."""
        seconds = self.plan.seconds
        try:
            checks.compare()
            if running.deployment.restarts:

                def again() -> "subprocess.Popen[str]":
                    return attack(running.folder, trial.pattern, trial.addresses, seconds)

                checks.restart(running.chain, running.start_again(), again, seconds / 2)
                running.node = checks.node
        finally:
            checks.close()
        trial.deployment = checks.result
        trial.failures += checks.result.failures

    def _print(self, line: str) -> None:
        if not self.quiet:
            print(line, flush=True)


@contextlib.contextmanager
def running(build: Build, transport: str, plan: Plan, *, tls: bool = False) -> Iterator[Running]:
    """Run a public node with default limits on a new chain, next to honest clients, in the plan's deployment."""
    folder = Path(tempfile.mkdtemp(prefix="foreseal-hostile-"))
    try:
        chain = Chain(build, folder, alloc_of(plan.deployment))
        options = ["--public", *build.transport_options(transport), *plan.options]
        if tls:
            options += _certify(chain)
        with contextlib.ExitStack() as stack:
            deployment = Deployment(plan.deployment, chain)
            stack.callback(deployment.stop)
            deployment.prepare()
            started = chain.start(*options, *deployment.node_options())
            stack.callback(kill_quietly, started)
            for name in ("observer", "reader"):
                chain.create_key(name)
            chain.populate(started.rpc)
            deployment.start(started)
            # Running nodes poll the file of keys four times a second.
            time.sleep(1.2)
            watch = stack.enter_context(Watch(chain.facts, folder, group_of(started.process.pid)))
            time.sleep(WARM_UP)
            node = Running(started, chain, deployment, tuple(options), watch)
            try:
                yield node
            finally:
                # A restart has replaced the process.
                kill_quietly(node.node)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _certify(chain: Chain) -> list[str]:
    """Issue a certificate that this process trusts; return the TLS options of a node."""
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    files = [chain.folder / name for name in ("ca.pem", "chain.pem", "key.pem")]
    authority.cert_pem.write_to_path(str(files[0]))
    files[1].write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(str(files[2]))
    chain.facts.certificate = str(files[0])
    os.environ["SSL_CERT_FILE"] = str(files[0])
    return ["--tls-cert", str(files[1]), "--tls-key", str(files[2])]
