"""Undoes what the snapshot froze, so that every run starts as a new process would."""

import gc
import linecache
import os
import random
import sys
import tempfile
import time
import warnings

from . import calls, loop, tzdb  # noqa: F401

def seal() -> None:
    """Runs once, when the component is built: nothing of the builder stays behind."""
    os.environ.clear()
    sys.path[:] = ["/workspace"]
    sys.path_importer_cache.clear()
    sys.argv[:] = ["main.py"]
    sys.dont_write_bytecode = True
    warnings.resetwarnings()
    warnings.filterwarnings("default", category=DeprecationWarning, module="__main__")
    for ignored in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.filterwarnings("ignore", category=ignored, append=True)
    _warnings_without_advice()
    gc.collect()
    # What is in the snapshot is never garbage: the collector need not touch its pages.
    gc.freeze()


def _warnings_without_advice() -> None:
    """Leaves out the line about `tracemalloc`, which would not help anybody here."""
    show = warnings._showwarnmsg_impl

    def show_without_source(message):
        message.source = None
        show(message)

    warnings._showwarnmsg_impl = show_without_source


_begun = False


def begin(workspace: bool) -> None:
    """Before the program. An isolate runs one, so what was done for the warm-up still holds."""
    global _begun
    if not _begun:
        _start_clock()
        # As good as `random.seed()`, which takes 2,500 bytes from the host piece by piece and
        # writes to fifty pages of the snapshot for that.
        random.seed(int.from_bytes(os.urandom(32), "little"))
        tempfile._name_sequence = None
        _begun = True
    if workspace:
        os.chdir("/workspace")
        os.environ["HOME"] = "/workspace"


def _start_clock() -> None:
    """There is no clock of the process here; its life so far is the nearest."""
    started = time.monotonic_ns()
    time.process_time_ns = lambda: time.monotonic_ns() - started
    time.process_time = lambda: (time.monotonic_ns() - started) / 1e9


def unbegin() -> None:
    """After a rehearsal: the next program begins anew."""
    global _begun
    _begun = False


def forget() -> None:
    """After the warm-up: leaves no trace of it."""
    calls.forget()
    loop.forget()
    sys.modules.pop("__main__", None)
    linecache.cache.clear()


def collect() -> None:
    """After a rehearsal: what it left is garbage, and what stays is not looked at again."""
    gc.collect()
    gc.freeze()
