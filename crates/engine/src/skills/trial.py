"""Runs the tests of a skill and gives what came of each."""

import doctest
import importlib
import inspect
import traceback

module = importlib.import_module(f"skills.{skill}")
result = []


def passed(name):
    result.append({"name": name, "passed": True})


def failed(name, message):
    result.append({"name": name, "passed": False, "message": message[-2000:].strip()})


for name, test in list(vars(module).items()):
    if not name.startswith("test_") or not callable(test):
        continue
    try:
        value = test()
        if inspect.isawaitable(value):
            await value
    except Exception as error:
        lines = [line for line in traceback.extract_tb(error.__traceback__) if line.filename.startswith("<skills.")]
        line = lines[-1] if lines else None
        where = f" ({line.filename}, line {line.lineno}: {line.line})" if line else ""
        failed(name, "".join(traceback.format_exception_only(error)).strip() + where)
    else:
        passed(name)

for example in doctest.DocTestFinder(exclude_empty=True).find(module, skill, module=False, globs=dict(vars(module))):
    if example.examples:
        said = []
        runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
        runner.run(example, out=said.append)
        name = f"example of {example.name}"
        failed(name, "".join(said)) if runner.failures else passed(name)
