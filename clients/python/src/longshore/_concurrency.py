"""What the asynchronous and the synchronous client do differently: sleeping, events and background work.

Each has two forms. The generator of the synchronous client removes `async_` and `Async` from names.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

async_sleep = asyncio.sleep
sleep = time.sleep


async def async_run_blocking(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs work that would block the event loop."""
    return await asyncio.to_thread(work, *args, **kwargs)


def run_blocking(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return work(*args, **kwargs)


class AsyncSignal:
    """Wakes one waiting task."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        self._event.set()

    def clear(self) -> None:
        self._event.clear()

    async def wait(self, seconds: float | None) -> None:
        """Returns when the signal is set, or after this time."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            pass


class Signal:
    """Wakes one waiting thread."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        self._event.set()

    def clear(self) -> None:
        self._event.clear()

    def wait(self, seconds: float | None) -> None:
        self._event.wait(seconds)


class AsyncBackground:
    """Work beside the caller. `error` is the first failure."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self.error: BaseException | None = None

    def start(self, work: Callable[P, Coroutine[Any, Any, None]], *args: P.args, **kwargs: P.kwargs) -> None:
        task = asyncio.create_task(self._run(work(*args, **kwargs)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:
            self.error = self.error or error

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class Background:
    """Work beside the caller, in threads. They end after their request when the caller stops."""

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def start(self, work: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        def run() -> None:
            try:
                work(*args, **kwargs)
            except Exception as error:
                self.error = self.error or error

        threading.Thread(target=run, name="longshore", daemon=True).start()

    def stop(self) -> None:
        pass


async def async_run_parallel(
    work: Callable[[T], Coroutine[Any, Any, None]], items: Sequence[T], parallel: int
) -> None:
    """Does the work for each item. The first failure stops it."""
    free = asyncio.Semaphore(parallel)

    async def run(item: T) -> None:
        async with free:
            await work(item)

    tasks = [asyncio.create_task(run(item)) for item in items]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def run_parallel(work: Callable[[T], None], items: Sequence[T], parallel: int) -> None:
    pool = ThreadPoolExecutor(max_workers=parallel, thread_name_prefix="longshore")
    try:
        for done in [pool.submit(work, item) for item in items]:
            done.result()
    finally:
        pool.shutdown(cancel_futures=True)
