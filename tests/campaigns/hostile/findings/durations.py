"""N4, N5, N12, N13: gas that buys more time than its price, blocks that fill in one step, dear checks first."""

from hostile.findings import trials
from hostile.findings.finding import Bench
from hostile.findings.trials import Case, measure_case

_BASE_FEE = 7
"""Base fee that an idle chain reaches, wei."""


def slow_transactions(bench: Bench) -> None:
    """N4: two transactions a second that loop over P256VERIFY."""
    measure_case(bench, Case("N4", "two loops over P256VERIFY a second", "stream-p256", trials.steps, seconds=10.0))


def slow_calls(bench: Bench) -> None:
    """N5: calls of one BLAKE2b of 49 million rounds, from one and from three addresses."""
    for addresses in (1, 3):
        case = Case("N5", f"{addresses} addresses, 16 calls each", "call-blake2f", trials.calls, addresses)
        measure_case(bench, case)


def full_blocks(bench: Bench) -> None:
    """N12: 47 senders fill blocks with burnt gas, for a fee cap of 1,000 wei and for the lowest accepted tip."""
    for name, pattern in (("fee cap of 1,000 wei", "fill-low-cap"), ("tip of 1,000,001 wei", "fill-low-tip")):
        case = Case("N12", name, pattern, trials.steps, seconds=15.0, base_fee=_BASE_FEE)
        measure_case(bench, case)


def dear_checks(bench: Bench) -> None:
    """N13: blobs with a wrong proof, and authorizations, of senders without funds."""
    for pattern, addresses in (("blob-proofs", 5), ("blob-proofs", 20), ("junk-authorizations", 5)):
        case = Case("N13", f"{pattern}, {addresses} addresses", pattern, trials.acknowledgments, addresses)
        measure_case(bench, case)
