"""Items of callers in turns."""

from foreseal.rpc.round_robin import RoundRobin


def popped(queue: RoundRobin[str]) -> list[str]:
    items = []
    while (item := queue.pop()) is not None:
        items.append(item)
    return items


def test_callers_alternate() -> None:
    queue: RoundRobin[str] = RoundRobin()
    for caller, item in [("a", "a1"), ("a", "a2"), (None, "n1"), ("a", "a3"), (None, "n2")]:
        queue.push(caller, item)
    assert popped(queue) == ["a1", "n1", "a2", "n2", "a3"]


def test_new_caller_is_served_after_one_round() -> None:
    queue: RoundRobin[str] = RoundRobin()
    for item in ("a1", "a2", "a3"):
        queue.push("a", item)
    assert queue.pop() == "a1"
    queue.push("b", "b1")
    assert popped(queue) == ["a2", "b1", "a3"]


def test_empty_queue_is_false_and_returns_none() -> None:
    queue: RoundRobin[str] = RoundRobin()
    assert not queue
    assert queue.pop() is None
    queue.push("a", "a1")
    assert queue
