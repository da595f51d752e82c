"""Decorators: with and without arguments, stacked, on classes, keeping state."""
import functools
import inspect


def retry(func=None, /, *, times=3, on=(Exception,)):
    if func is None:
        return functools.partial(retry, times=times, on=on)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        for attempt in range(1, times + 1):
            wrapper.attempts += 1
            try:
                return func(*args, **kwargs)
            except on:
                if attempt == times: raise
    wrapper.attempts = 0
    return wrapper


def trace(label):
    def decorate(func):
        def wrapper(*args, **kwargs):
            bound = inspect.signature(func).bind(*args, **kwargs)
            bound.apply_defaults()
            print(f"{label} {func.__name__}({', '.join(f'{k}={v!r}' for k, v in bound.arguments.items())})")
            return func(*args, **kwargs)
        return functools.update_wrapper(wrapper, func)
    return decorate


class CountCalls:
    def __init__(self, func): functools.update_wrapper(self, func).calls = 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return self.__wrapped__(*args, **kwargs)

    def __get__(self, obj, owner=None): return self if obj is None else functools.partial(self, obj)


failures = iter([KeyError("one"), KeyError("two"), None, ValueError("hard"), None])


@trace("outer")
@retry(times=4, on=KeyError)
def fetch(key, *rest, sep="-", **extra) -> str:
    if problem := next(failures):
        raise problem
    return sep.join([key, *rest])


@retry
def never(): raise OSError("always")


class Service:
    @CountCalls
    def ping(self, n=1): return n * 2


print(fetch("a", "b", colour="red"), fetch.__wrapped__.attempts)
for call in (lambda: fetch("z"), never):
    try:
        call()
    except (ValueError, OSError) as exc:
        print("escaped:", repr(exc))
print(never.attempts, fetch.__name__, never.__wrapped__.__name__, str(inspect.signature(fetch)))
print(Service().ping(), Service().ping(n=5), Service.ping.calls, Service.ping.__name__)
