"""The long forms of the campaigns, with their results in files: `make optimism-equal`, `make optimism-kills`."""

import sys
import tempfile
from pathlib import Path
from typing import Any

from campaign_cli import conclude, options, show
from optimism import Fork
from optimism_chain.equal_campaign import EqualCampaign
from optimism_chain.sequencer_kills import SequencerKills
from optimism_chain.verifier_kills import VerifierKills

# Workers (0: one process) and newest fork of each run.
EQUAL_RUNS = ((0, Fork.JOVIAN), (2, Fork.KARST))


def main() -> int:
    """Run one campaign and return 0 if it found nothing wrong."""
    parser = options("optimism_chain")
    parser.add_argument("campaign", choices=["equal", "kills"])
    parser.add_argument("--blocks", type=int, default=60, help="sealed blocks of each run")
    parser.add_argument("--kills", type=int, default=200, help="kills of a sequencer and of a verifier together")
    parser.add_argument("--recordings", type=Path, help="folder of the recorded exchanges, for kills of a verifier")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="foreseal-optimism-"))
    if arguments.campaign == "equal":
        runs, faults = _equal(folder, arguments.seed, arguments.blocks)
        command = f"make optimism-equal BLOCKS={arguments.blocks} SEED={arguments.seed}"
    else:
        runs, faults = _kills(folder, arguments.seed, arguments.kills, arguments.recordings)
        command = f"make optimism-kills KILLS={arguments.kills} SEED={arguments.seed}"
    return conclude(runs, faults, arguments.save, (command, ("websockets",)), folder)


def _equal(folder: Path, seed: int, blocks: int) -> tuple[list[Any], list[str]]:
    runs: list[Any] = []
    faults: list[str] = []
    for workers, fork in EQUAL_RUNS:
        campaign = EqualCampaign(folder / f"{fork}-{workers}", seed, workers, fork)
        runs.append(campaign.run(blocks))
        show(runs[-1], campaign.faults)
        faults += campaign.faults
    return runs, faults


def _kills(folder: Path, seed: int, kills: int, recordings: Path | None) -> tuple[list[Any], list[str]]:
    sequencer = SequencerKills(folder / "sequencer", seed)
    runs: list[Any] = [sequencer.run(kills - kills // 2)]
    faults = list(sequencer.faults)
    show(runs[-1], faults)
    if recordings is None or not recordings.exists():
        print(f"no recordings at {recordings}: no verifier is killed", flush=True)
        return runs, faults
    verifier = VerifierKills(folder / "verifier", recordings, seed)
    runs.append(verifier.run(kills // 2))
    show(runs[-1], verifier.faults)
    return runs, faults + verifier.faults


if __name__ == "__main__":
    sys.exit(main())
