"""Every signed step of a run verifies offline, and none with a flipped bit; `make promises` is the long form."""

from pathlib import Path

import pytest

from promises.campaign import Campaign


@pytest.mark.timeout(240)
def test_every_commitment_is_valid_and_any_changed_bit_is_detected(tmp_path: Path) -> None:
    summary = Campaign(tmp_path, 1, every_bit=False).run(12)
    print(f"\n{summary}")
    assert not summary.faults, "\n".join(summary.faults[:20])
    assert summary.filled >= 12
    assert summary.receipts > 12
    assert summary.unchanged == 12
    assert summary.steps > summary.filled
    assert sum(summary.bits.values()) > 12 * 2000
    assert all(summary.bits[name] > 0 for name in ("header", "proof", "signer", "step.index", "transaction"))
