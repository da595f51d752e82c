"""What a sandbox cannot do, said in one line where Python would be cryptic."""

import _thread
import http.client
import os
import socket
import subprocess
import threading
import urllib.error
import urllib.request

from .loop import HostEventLoop

_THREADS = "there are no threads in the sandbox; use asyncio.gather, asyncio.TaskGroup or asyncio.to_thread"
_PROCESSES = "there are no processes in the sandbox; do it in Python, or call a tool of an MCP server"
_NETWORK = "there is no network in the sandbox; call a tool of an MCP server instead (search_tools finds one)"


def _refuse(error, reason):
    def refused(*args, **kwargs):
        raise error(reason)

    return refused


def _refuse_async(reason):
    async def refused(*args, **kwargs):
        raise OSError(reason)

    return refused


def install() -> None:
    for name in ("subprocess_exec", "subprocess_shell"):
        setattr(HostEventLoop, name, _refuse_async(_PROCESSES))
    for name in (
        "create_connection", "create_server", "create_datagram_endpoint", "create_unix_connection",
        "create_unix_server", "getaddrinfo", "getnameinfo", "sock_connect",
    ):
        setattr(HostEventLoop, name, _refuse_async(_NETWORK))
    threading.Thread.start = _refuse(RuntimeError, _THREADS)
    _thread.start_new_thread = _thread.start_joinable_thread = _refuse(RuntimeError, _THREADS)
    threading._start_joinable_thread = _thread.start_joinable_thread
    subprocess.Popen.__init__ = _refuse(OSError, _PROCESSES)
    for name in ("system", "popen", "fork", "forkpty", "execv", "execve", "posix_spawn", "posix_spawnp", "spawnv", "kill"):
        if hasattr(os, name) or name in ("system", "popen", "fork", "kill"):
            setattr(os, name, _refuse(OSError, _PROCESSES))

    class RefusedSocket(socket.socket):
        __init__ = _refuse(OSError, _NETWORK)

        def __del__(self):
            pass

    RefusedSocket.__name__ = RefusedSocket.__qualname__ = "socket"
    RefusedSocket.__module__ = "socket"
    socket.socket = RefusedSocket
    _refuse_https()
    for name in ("create_connection", "create_server", "socketpair", "getaddrinfo", "gethostbyname", "getnameinfo"):
        setattr(socket, name, _refuse(OSError, _NETWORK))


def _refuse_https() -> None:
    """Without `ssl` the library has no HTTPS at all, and says that it does not know what that is."""

    class HTTPSConnection(http.client.HTTPConnection):
        __init__ = _refuse(OSError, _NETWORK)

    class HTTPSHandler(urllib.request.AbstractHTTPHandler):
        def __init__(self, *args, **kwargs):
            super().__init__()

        https_open = _refuse(urllib.error.URLError, _NETWORK)

    http.client.HTTPSConnection = HTTPSConnection
    urllib.request.HTTPSHandler = HTTPSHandler
