"""Exceptions: cause and context, notes, finally order, custom hierarchies, re-raise."""


class AppError(Exception):
    code = 500

    def __init_subclass__(cls, code=None, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.code = code or cls.code


class NotFound(AppError, LookupError, code=404):
    def __init__(self, what, *, hint=None):
        super().__init__(what)
        self.hint = hint


class Conflict(AppError, code=409): ...


def chain(exc):
    """Walk from the newest exception to the first one, as a traceback would."""
    while exc is not None:
        arrow = "cause" if exc.__cause__ else "context" if exc.__context__ and not exc.__suppress_context__ else None
        yield f"{type(exc).__name__}({exc})" + (f" <-{arrow}-" if arrow else "")
        exc = exc.__cause__ or (None if exc.__suppress_context__ else exc.__context__)


def lookup(key, mode):
    try:
        return {"a": 1}[key]
    except KeyError as exc:
        match mode:
            case "explicit": raise NotFound(key, hint="try 'a'") from exc
            case "implicit": raise Conflict(f"while handling {key}")
            case "hidden": raise NotFound(key) from None
            case "note":
                exc.add_note(f"looked for {key!r}")
                raise


for mode in ("explicit", "implicit", "hidden", "note"):
    try:
        lookup("zz", mode)
    except LookupError as exc:
        print(mode, "|", " ".join(chain(exc)), "|", getattr(exc, "code", None), getattr(exc, "hint", None), getattr(exc, "__notes__", []))
    except AppError as exc:
        print(mode, "|", " ".join(chain(exc)), "|", exc.code)


def order(fail, steps=[]):
    try:
        steps.append("try")
        if fail: raise ValueError("first")
    except ValueError:
        steps.append("except")
        raise RuntimeError("second")
    else:
        return steps.append("else") or steps
    finally:
        steps.append("finally")


print(order(False) is order.__defaults__[0], end=" ")
try:
    order(True)
except RuntimeError as exc:
    kept = exc
print(order.__defaults__[0], " ".join(chain(kept)), "exc" in dir(), kept.__traceback__.tb_next.tb_frame.f_code.co_name)
print([c.__name__ for c in NotFound.__mro__[:-1]], NotFound("x").args, repr(Conflict("a", 1)), issubclass(NotFound, LookupError))
