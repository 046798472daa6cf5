"""Requests that an operation needs, collected and then executed as one batch."""

from typing import Any, Generic, TypeVar

from foreseal.payments.chain.errors import ChainError
from foreseal.payments.chain.node import ChainNode, NodeRequest

T = TypeVar("T")


class PendingAnswer(Generic[T]):
    """Answer to a request of a batch, available after `RequestBatch.execute`."""

    def __init__(self) -> None:
        self.answer: Any = None

    def result(self) -> T:
        """Return the result. Raises the `ChainError` that the request failed with."""
        if isinstance(self.answer, ChainError):
            raise self.answer
        answer: T = self.answer
        return answer


class RequestBatch:
    """A batch. Equal requests are sent once."""

    def __init__(self) -> None:
        self._requests: list[NodeRequest[Any]] = []
        self._answers: list[PendingAnswer[Any]] = []

    def add(self, request: NodeRequest[T]) -> PendingAnswer[T]:
        """Add a request. Return its answer, which has a result after `execute`."""
        answer: PendingAnswer[T] = PendingAnswer()
        self._requests.append(request)
        self._answers.append(answer)
        return answer

    def execute(self, node: ChainNode) -> None:
        """Execute all requests. Raises nothing: each answer has its own error."""
        if self._requests:
            for pending, answer in zip(self._answers, node.batch(self._requests), strict=True):
                pending.answer = answer
