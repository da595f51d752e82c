"""The event loop: asyncio's own, waiting for the host instead of for sockets."""

import asyncio
from asyncio import base_events, events, runners, unix_events
from contextlib import contextmanager

from . import calls
from _asyncio import _swap_current_task


# How many tasks were made; asyncio's own count goes on from the snapshot.
_tasks = 0


class Deadlock(RuntimeError):
    """Everything waits, and nothing is left that could wake it."""

    __module__ = "builtins"


class _HostSelector:
    """Stands where asyncio expects a selector of file descriptors."""

    def __init__(self, loop):
        self._loop = loop

    def select(self, timeout=None):
        if timeout is None:
            if calls.pending:
                calls.poll(None)
            else:
                self._loop._report_deadlock()
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
        self._selector = _HostSelector(self)
        self._first_task = None
        # The host waits to the nanosecond; the default would spin before each timer.
        self._clock_resolution = 1e-6

    def _process_events(self, event_list):
        pass

    def _write_to_self(self):
        pass

    def create_task(self, coro, *, name=None, **kwargs):
        global _tasks
        if name is None:
            _tasks += 1
            name = f"Task-{_tasks}"
        task = super().create_task(coro, name=name, **kwargs)
        if self._first_task is None:
            self._first_task = task
        return task

    def _report_deadlock(self):
        """Lets the first task fail where it waits, so that the traceback shows the line."""
        error = Deadlock(_deadlock_message(self))
        waiter = getattr(self._first_task, "_fut_waiter", None)
        if not asyncio.isfuture(waiter) or waiter.done():
            raise error
        waiter.set_exception(error)

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


def _deadlock_message(loop) -> str:
    others = asyncio.all_tasks(loop) - {loop._first_task}
    names = sorted({getattr(task.get_coro(), "__qualname__", "a generator") for task in others})[:10]
    also = f" ({', '.join(names)} waits too)" if names else ""
    return (
        "the program waits for something that can no longer happen, such as an item in a queue "
        f"that nobody fills or a future that nobody sets{also}"
    )


def forget() -> None:
    global _tasks
    _tasks = 0


def install() -> None:
    """Makes every way to get a loop lead to this one."""
    for module in (asyncio, unix_events):
        module.SelectorEventLoop = HostEventLoop
        module.EventLoop = HostEventLoop
    unix_events._UnixSelectorEventLoop = HostEventLoop
    unix_events._UnixDefaultEventLoopPolicy._loop_factory = HostEventLoop
    runners.Runner.run = _nested(runners.Runner.run)
    runners.run = asyncio.run = _nested(runners.run)
