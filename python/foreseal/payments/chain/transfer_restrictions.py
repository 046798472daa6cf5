"""Accounts that a token forbids in a transfer, by its blacklist or by its holder policies if it has them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from foreseal.payments.chain.node import BlockTag, ChainNode
from foreseal.payments.chain.request_batch import PendingAnswer, RequestBatch
from foreseal.payments.chain.token import EXECUTOR_POLICY, RECEIVER_POLICY, SENDER_POLICY
from foreseal.payments.chain.token_reads import TokenReads


@dataclass(frozen=True, slots=True)
class TransferParties:
    """Accounts of one or more transfers, by role."""

    sender: str
    receivers: Sequence[str]
    executor: str | None = None
    """Account that moves tokens of another account: a contract, or the payee of an authorization."""

    def accounts(self) -> Iterator[str]:
        """Yield each account once: executor, sender, receivers."""
        executors = () if self.executor is None else (self.executor,)
        yield from dict.fromkeys([*executors, self.sender, *self.receivers])

    def by_scope(self) -> dict[bytes, Sequence[str]]:
        """Return the accounts that each scope of holder policies restricts."""
        executors = [] if self.executor is None else [self.executor]
        return {EXECUTOR_POLICY: executors, SENDER_POLICY: [self.sender], RECEIVER_POLICY: self.receivers}


class RestrictionReads:
    """Restrictions of a token on the accounts of many transfers.

    Call `add` for each transfer, execute the batch, call `read_policies`, then `forbidden` for each transfer.
    """

    def __init__(self, token: TokenReads, block: BlockTag, batch: RequestBatch) -> None:
        self._token = token
        self._block = block
        self._batch = batch
        self._blacklisted: dict[str, PendingAnswer[bool]] = {}
        self._policies: dict[bytes, PendingAnswer[int | None]] = {}
        self._authorized: dict[tuple[int, str], PendingAnswer[bool]] = {}

    def add(self, parties: TransferParties) -> None:
        """Add the requests of a transfer to the batch."""
        for account in parties.accounts():
            if account not in self._blacklisted:
                self._blacklisted[account] = self._batch.add(self._token.blacklisted(account, self._block))
        for scope, accounts in parties.by_scope().items():
            if accounts and scope not in self._policies:
                self._policies[scope] = self._batch.add(self._token.policy(scope, self._block))

    def read_policies(self, node: ChainNode, transfers: Sequence[TransferParties]) -> None:
        """Read which accounts the policies allow, if the token has any."""
        batch = RequestBatch()
        for scope, answer in self._policies.items():
            if not isinstance(answer.answer, int):  # no policy, or an error that `forbidden` raises
                continue
            for parties in transfers:
                for account in parties.by_scope()[scope]:
                    key = (answer.answer, account)
                    if key not in self._authorized:
                        self._authorized[key] = batch.add(self._token.authorized(*key, self._block))
        batch.execute(node)

    def forbidden(self, parties: TransferParties) -> str | None:
        """Return the first account that the token forbids, or None if it allows all. Raises the node's errors."""
        for account in parties.accounts():
            if self._blacklisted[account].result():
                return account
        for scope, accounts in parties.by_scope().items():
            policy = self._policies[scope].result() if accounts else None
            for account in dict.fromkeys(accounts if policy is not None else ()):
                assert policy is not None
                if not self._authorized[policy, account].result():
                    return account
        return None


def find_forbidden_account(node: ChainNode, token: str, parties: TransferParties, block: BlockTag) -> str | None:
    """Return the first account that the token forbids, or None if it allows all. Raises the node's errors."""
    batch = RequestBatch()
    reads = RestrictionReads(TokenReads(token), block, batch)
    reads.add(parties)
    batch.execute(node)
    reads.read_policies(node, [parties])
    return reads.forbidden(parties)
