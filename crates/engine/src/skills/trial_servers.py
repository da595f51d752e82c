"""Servers as tests see them: any name is a tool, and its answers were recorded."""

import importlib as _importlib

from _narrows.calls import ToolError, call as _call


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    _, _, server = __name__.partition(".")
    if not server:
        return _importlib.import_module(f"{__name__}.{name}")
    tool = f"{server}.{name}"
    parameters = PARAMETERS.get(tool, [])

    async def function(*positions, **keywords):
        if len(positions) == 1 and not keywords and isinstance(positions[0], dict):
            return await _call(tool, positions[0])
        if len(positions) > len(parameters):
            raise TypeError(f"{name}() is called by position, and its parameters are not known here; name them")
        return await _call(tool, {**dict(zip(parameters, positions)), **keywords})

    function.__name__ = function.__qualname__ = name
    return function
