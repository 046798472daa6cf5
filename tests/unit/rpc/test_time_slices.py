"""Long work on the event loop runs one slice per iteration, regardless of its caller."""

import asyncio

from foreseal.rpc.time_slices import TimeSlices


def iterations_of(works: int, slices_each: int) -> list[list[int]]:
    """Return the works that had a slice in each iteration of the event loop."""

    async def scenario() -> list[list[int]]:
        subject, iterations = TimeSlices(), [[]]

        async def work(number: int) -> None:
            for _ in range(slices_each):
                await subject.begin()
                iterations[-1].append(number)
                subject.end()

        tasks = [asyncio.ensure_future(work(number)) for number in range(works)]
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            iterations.append([])
        return iterations

    return asyncio.run(scenario())


def test_each_iteration_has_one_slice_or_none() -> None:
    iterations = iterations_of(works=5, slices_each=3)
    assert max(len(iteration) for iteration in iterations) == 1
    assert sorted(number for iteration in iterations for number in iteration) == sorted(list(range(5)) * 3)


def test_waiting_tasks_get_slices_in_rotation() -> None:
    order = [number for iteration in iterations_of(works=3, slices_each=3) for number in iteration]
    # The first one requested its second slice before the others requested their first.
    assert order == [0, 0, 1, 2, 0, 1, 2, 1, 2]


async def test_canceled_wait_passes_its_slice_on() -> None:
    subject = TimeSlices()
    await subject.begin()
    waiting = [asyncio.ensure_future(subject.begin()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    subject.end()
    await asyncio.sleep(0)
    # It has a slice by now, but never uses it.
    waiting[1].cancel()
    await asyncio.wait_for(waiting[2], 10)


def order_of(*asked: tuple[str, bool]) -> list[str]:
    """Return the callers in the order of their slices, all requested at once."""

    async def scenario() -> list[str]:
        subject, order = TimeSlices(), []
        await subject.begin("first")

        async def work(caller: str, is_public: bool) -> None:
            await subject.begin(caller, is_public=is_public)
            order.append(caller)
            subject.end()

        tasks = [asyncio.ensure_future(work(*each)) for each in asked]
        await asyncio.sleep(0)
        subject.end()
        await asyncio.gather(*tasks)
        return order

    return asyncio.run(scenario())


def test_callers_get_slices_in_rotation_despite_unequal_load() -> None:
    assert order_of(*[("crowd", True)] * 4, ("a", True), ("b", True)) == ["crowd", "a", "b", "crowd", "crowd", "crowd"]


def test_dedicated_tier_precedes_the_public_tier() -> None:
    assert order_of(("a", True), ("b", True), ("key", False)) == ["key", "a", "b"]
