"""The files of a data directory other than its store: journal, identity, key, pool, API keys, and a backup of all."""

import random
import shutil
import tempfile
from pathlib import Path

from damage import chain
from flips.kind import Expected, Flip, Kind, Outcome
from foreseal._core import run_backup, run_restore
from foreseal.errors import NodeError
from foreseal.server.auth import keys


class Journal(Kind):
    """The segments and the recorded end. Free space after the last append is excluded, because it is never read."""

    name = "journal"

    def files(self, datadir: Path) -> list[Path]:
        """Return the segments, and the file of the recorded end."""
        return [*sorted((datadir / "journal").iterdir()), datadir / "journal.end"]

    def draw(self, datadir: Path, choice: random.Random) -> Flip:
        """Choose a used bit; one in four is in the recorded end, which is small."""
        *segments, end = self.files(datadir)
        file = end if choice.randrange(4) == 0 else choice.choice(segments)
        used = len(file.read_bytes().rstrip(b"\0"))
        return Flip(str(file.relative_to(datadir)), choice.randrange(used), choice.randrange(8))


class Identity(Kind):
    """The genesis, the identity with the signer's address, and the signing key."""

    name = "identity"

    def files(self, datadir: Path) -> list[Path]:
        """Return the small files that a start reads."""
        return [datadir / name for name in ("genesis.json", "identity.json", "sequencer.key")]

    def draw(self, datadir: Path, choice: random.Random) -> Flip:
        """Choose a file, then a bit: the genesis is far larger than the others."""
        file = choice.choice(self.files(datadir))
        return Flip(str(file.relative_to(datadir)), choice.randrange(file.stat().st_size), choice.randrange(8))


class Pool(Kind):
    """The saved pool, which is used once or not at all."""

    name = "pool"

    def files(self, datadir: Path) -> list[Path]:
        """Return the file that a clean stop leaves."""
        return [datadir / "pool.bin"]

    def read(self, datadir: Path, known: Expected) -> tuple[Outcome, str]:
        """Start a node, which reports if it used the file."""
        del known
        driver = chain.Driver(datadir)
        try:
            start = driver.rpc("foreseal_status")["pool"]["start"]
        finally:
            driver.node.stop()
        if start == "restored":
            return Outcome.SERVED, "the pool was restored"
        return Outcome.OPEN, f"pool.bin is not used: the pool is {start}"


class ApiKeys(Kind):
    """The file of API keys."""

    name = "keys"

    def files(self, datadir: Path) -> list[Path]:
        """Return the file, creating it at first."""
        path = datadir / keys.KEY_FILE
        if not path.exists():
            made = (keys.create_key(name, 1_700_000_000)[0] for name in ("till", "app", "back office"))
            path.write_bytes(keys.encode_keys({key.id: key for key in made}))
        return [path]

    def read(self, datadir: Path, known: Expected) -> tuple[Outcome, str]:
        """Read the keys like a node at its start."""
        del known
        try:
            keys.read_keys(datadir / keys.KEY_FILE)
        except keys.KeyFileError as error:
            return Outcome.OPEN, str(error)
        return Outcome.SERVED, "the keys are taken"


class Backup(Kind):
    """The parts of a backup, its manifest included."""

    name = "backup"

    def files(self, datadir: Path) -> list[Path]:
        """Return the files of a backup, creating it at first."""
        folder = datadir / "backup"
        if not folder.exists():
            run_backup(str(datadir), str(folder), lambda *_: None, True, None)
        return sorted(path for path in folder.rglob("*") if path.is_file())

    def draw(self, datadir: Path, choice: random.Random) -> Flip:
        """Choose a file, then a bit: the store is far larger than the others."""
        file = choice.choice(self.files(datadir))
        return Flip(str(file.relative_to(datadir)), choice.randrange(file.stat().st_size), choice.randrange(8))

    def read(self, datadir: Path, known: Expected) -> tuple[Outcome, str]:
        """Restore it, and compare the responses of the restored chain."""
        target = Path(tempfile.mkdtemp(prefix="foreseal-flips-", dir=datadir.parent))
        try:
            run_restore(str(datadir / "backup"), str(target), lambda *_: None, None)
            answers = chain.query(target, known.calls)
        except NodeError as error:
            return Outcome.OPEN, str(error)
        finally:
            shutil.rmtree(target)
        return (Outcome.NONE, "") if answers == known.answers else (Outcome.SERVED, "restored to another chain")


KINDS: tuple[Kind, ...] = (Journal(), Identity(), Pool(), ApiKeys(), Backup())
