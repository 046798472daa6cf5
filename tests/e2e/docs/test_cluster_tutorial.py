"""The commands of the cluster tutorial, executed in order in one shell."""

import itertools
import os
import re
import sys
from pathlib import Path

from distribution.guide import GuideReader
from etcd_programs import etcd_program
from repository import DOCS, PYTHONPATH, ROOT


def test_cluster_tutorial_continues_without_its_leader(tmp_path: Path) -> None:
    program = etcd_program()
    # The page finds `etcd` and `foreseal` on the PATH.
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "etcd").symlink_to(program)
    path = f"{tmp_path / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    modules = os.pathsep.join((PYTHONPATH, str(ROOT / "python")))
    reader = GuideReader(tmp_path, os.environ | {"PATH": path, "PYTHONPATH": modules})
    try:
        reader.follow(DOCS / "get-started" / "cluster.md")
        codes = reader.stop()
    finally:
        reader.kill()
    assert codes == [0]
    log = (tmp_path / f"{reader.ports['8545']}.log").read_text()
    stopped = re.findall(r"^foreseal: stopped (\S+)$", log, re.MULTILINE)
    assert stopped == ["replica-1", "replica-2", "standby-1", "etcd-2", "etcd-3"]
    before, after, last = (text for command, text in reader.outputs if "cluster status" in command)
    assert "epoch 1" in before
    assert re.search(r"owner +standby-1, epoch 2", after)
    assert re.search(r"owner +standby-1, epoch 2", last)
    assert "unreachable" in last
    [steps] = [text for command, text in reader.outputs if "steps.py $(" in command]
    assert re.fullmatch(r"after step \d+\.\d+: \d+ added, 0 removed\nthe signer is the same\n", steps)
    [transfers] = [text for command, text in reader.printed.items() if "cat transfers.txt" in command]
    positions = [tuple(map(int, each)) for each in re.findall(r"block (\d+), transaction (\d+), after", transfers)]
    assert len(positions) > 10
    assert "Traceback" not in transfers
    for (block, index), (next_block, next_index) in itertools.pairwise(positions):
        assert (next_block, next_index) == (block, index + 1) or (next_block > block and next_index == 0)
