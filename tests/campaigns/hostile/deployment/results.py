"""Limits and figures of the processes that run with the node under test."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Limits:
    """Limits of a deployment, in seconds."""

    arrival: float = 10.0
    """Time until every process is at the newest step, and until a payment is shown."""
    ready: float = 10.0
    """Time from the start of a stopped node until it is ready."""


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Arrival:
    """Outcome of waiting for one process."""

    peer: str
    seconds: float | None
    """Time until it reached the newest step; None if it did not within the limit."""
    behind: str = ""
    """Distance to that step at the limit."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The newest transaction of an attack in a sealed block."""

    transaction: str
    block: str
    block_hash: str
    contract: str
    """Recipient, or sender if the transaction has none."""
    is_hostile: bool
    """False if no transaction of the attack is sealed: then it is the newest of any sender."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Digest of an answer."""

    digest: str
    bytes: int
    code: int | None = None
    """Code of the error; None for a result."""


@dataclass
class Comparison:
    """Answers of the node, and of the processes that differ."""

    subject: Subject | None = None
    answers: dict[str, Answer] = field(default_factory=dict)
    """Answers of the node by method."""
    failures: list[str] = field(default_factory=list)


@dataclass
class RestartResult:
    """A stop in the middle of an attack, and the start after it."""

    exit_code: int | None
    stop_seconds: float
    ready_seconds: float | None = None
    """None if the node did not become ready."""
    step_seconds: float | None = None
    """Time from readiness until a step that is newer than those before the stop."""
    comparison: Comparison = field(default_factory=Comparison)
    """Answers read before the stop, and those that differ after it."""
    arrivals: list[Arrival] = field(default_factory=list)


@dataclass
class DeploymentResult:
    """Figures of a deployment for one attack."""

    kinds: tuple[str, ...]
    lags: dict[str, float] = field(default_factory=dict)
    """Largest time during the attack for which a process was behind the node, in seconds by name."""
    arrivals: list[Arrival] = field(default_factory=list)
    comparison: Comparison = field(default_factory=Comparison)
    payments: list[float | None] = field(default_factory=list)
    """Seconds until each captured order showed its payment; None if it did not in time."""
    restart: RestartResult | None = None
    failures: list[str] = field(default_factory=list)


def line_of(result: DeploymentResult) -> str:
    """Return a line of the table: seconds until each process was at the newest step, and those of a restart."""
    parts = ["largest lag " + " ".join(f"{name} {lag:.2f}" for name, lag in result.lags.items())] if result.lags else []
    parts.append(_show(result.arrivals, "arrived"))
    parts += [f"payments {_list(result.payments)}"] if result.payments else []
    if result.restart is not None:
        restart = result.restart
        parts.append(f"stopped {restart.stop_seconds:.2f}, ready {_seconds(restart.ready_seconds)}")
        parts.append(f"next step {_seconds(restart.step_seconds)}")
        parts.append(_show(restart.arrivals, "arrived after it"))
    verdict = "ok" if not result.failures else f"FAIL {'; '.join(result.failures)[:400]}"
    return f"    {', '.join(result.kinds)} (seconds): {'; '.join(parts)}: {verdict}"


def _show(arrivals: list[Arrival], name: str) -> str:
    return f"{name} " + " ".join(f"{arrival.peer} {_seconds(arrival.seconds)}" for arrival in arrivals)


def _list(seconds: list[float | None]) -> str:
    return " ".join(map(_seconds, seconds))


def _seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.2f}"
