"""The event loop: asyncio's own, waiting for the host instead of for sockets."""

import asyncio
from asyncio import base_events, events, runners, unix_events
from contextlib import contextmanager

from . import calls
from _asyncio import _swap_current_task


class Deadlock(RuntimeError):
    """Everything waits, and nothing is left that could wake it."""


class _HostSelector:
    """Stands where asyncio expects a selector of file descriptors."""

    def select(self, timeout=None):
        if timeout is None:
            if not calls.pending:
                raise Deadlock(_deadlock_message())
            calls.poll(None)
        elif timeout > 0:
            calls.poll(int(timeout * 1e9))
        elif calls.pending:
            calls.poll(0)
        return ()

    def get_map(self):
        return {}

    def close(self):
        pass


class HostEventLoop(base_events.BaseEventLoop):
    def __init__(self, selector=None):
        super().__init__()
        self._selector = _HostSelector()
        # The host waits to the nanosecond; the default would spin before each timer.
        self._clock_resolution = 1e-6

    def _process_events(self, event_list):
        pass

    def _write_to_self(self):
        pass

    def run_in_executor(self, executor, func, *args):
        """There are no threads: the function runs at the loop's next turn."""
        self._check_closed()
        future = self.create_future()
        self.call_soon(_run_into, future, func, args)
        return future

    async def shutdown_default_executor(self, timeout=None):
        pass

    def run_forever(self):
        with _outer_loop_set_aside():
            super().run_forever()

    def run_until_complete(self, future):
        with _outer_loop_set_aside():
            return super().run_until_complete(future)


def _run_into(future, func, args):
    if future.cancelled():
        return
    try:
        future.set_result(func(*args))
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        future.set_exception(error)


@contextmanager
def _outer_loop_set_aside():
    """Lets `asyncio.run` work below a top-level `await`, where a loop is already running."""
    outer = events._get_running_loop()
    if outer is None:
        yield
        return
    task = _swap_current_task(outer, None)
    events._set_running_loop(None)
    try:
        yield
    finally:
        events._set_running_loop(outer)
        _swap_current_task(outer, task)


def _nested(function):
    def run(*args, **kwargs):
        with _outer_loop_set_aside():
            return function(*args, **kwargs)

    run.__name__, run.__qualname__, run.__doc__ = "run", function.__qualname__, function.__doc__
    return run


def _deadlock_message() -> str:
    waiting = []
    try:
        loop = events._get_running_loop()
        waiting = sorted(task.get_coro().__qualname__ for task in asyncio.all_tasks(loop))
    except Exception:
        pass
    names = f" (waiting: {', '.join(waiting[:10])})" if waiting else ""
    return (
        "deadlock: the program waits for something that can no longer happen, such as an item "
        f"in a queue that nobody fills or a future that nobody sets{names}"
    )


def install() -> None:
    """Makes every way to get a loop lead to this one."""
    for module in (asyncio, unix_events):
        module.SelectorEventLoop = HostEventLoop
        module.EventLoop = HostEventLoop
    unix_events._UnixSelectorEventLoop = HostEventLoop
    unix_events._UnixDefaultEventLoopPolicy._loop_factory = HostEventLoop
    runners.Runner.run = _nested(runners.Runner.run)
    runners.run = asyncio.run = _nested(runners.run)
