"""Runs the tests of a skill and gives what came of each."""

import doctest
import importlib
import inspect
import traceback
import types

results = []


def passed(name):
    results.append({"name": name, "passed": True})


def failed(name, message):
    results.append({"name": name, "passed": False, "message": message[-2000:].strip()})


def raised(name, error):
    lines = [line for line in traceback.extract_tb(error.__traceback__) if line.filename.startswith("<skills.")]
    line = lines[-1] if lines else None
    where = f" ({line.filename}, line {line.lineno}: {line.line})" if line else ""
    failed(name, "".join(traceback.format_exception_only(error)).strip() + where)


# A test that wants to leave the program has failed too, and must not keep the others from running.
try:
    module = importlib.import_module(f"skills.{skill}")
except BaseException as error:
    raised("import", error)
    module = types.ModuleType(skill)

for name, test in list(vars(module).items()):
    if not name.startswith("test_") or not callable(test):
        continue
    try:
        value = test()
        if inspect.isawaitable(value):
            await value
    except BaseException as error:
        raised(name, error)
    else:
        passed(name)

for example in doctest.DocTestFinder(exclude_empty=True).find(module, skill, module=False, globs=dict(vars(module))):
    if example.examples:
        said = []
        runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
        runner.run(example, out=said.append)
        name = f"example of {example.name}"
        failed(name, "".join(said)) if runner.failures else passed(name)

# Not before: whatever ends the program earlier leaves no result.
result = results
