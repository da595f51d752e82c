"""Exception groups: except*, split, subgroup, derive, nesting, partial handling."""


class ValidationError(Exception):
    def __init__(self, field, problem):
        super().__init__(f"{field}: {problem}")
        self.field = field


class FormErrors(ExceptionGroup):
    def derive(self, excs): return FormErrors(self.message, excs)


def validate(form):
    problems = []
    for field, rule in RULES.items():
        try:
            rule(form.get(field))
        except Exception as exc: problems.append(exc)
    if problems: raise FormErrors("form rejected", problems)
    return "accepted"


def need_name(value):
    if not value: raise ValidationError("name", "required")


def need_age(value):
    if int(value) < 18: raise ValidationError("age", f"{value} is too young")


RULES = {"name": need_name, "age": need_age}

for form in ({"name": "Ana", "age": "30"}, {"age": "12"}, {"name": "Bo", "age": "old"}, {"name": "", "age": None}):
    seen = []
    try:
        seen.append(validate(form))
    except* ValidationError as group:
        seen.append([e.field for e in group.exceptions])
    except* (ValueError, TypeError) as group:
        seen.append(f"{type(group).__name__} of {[type(e).__name__ for e in group.exceptions]}")
    print(form, "->", *seen)

nested = ExceptionGroup("outer", [ValueError("a"), ExceptionGroup("inner", [KeyError("b"), ValueError("c")]), OSError("d")])


def shape(exc):
    return [exc.message, *map(shape, exc.exceptions)] if isinstance(exc, BaseExceptionGroup) else type(exc).__name__


match, rest = nested.split(ValueError)
print(shape(match), shape(rest), nested.subgroup(IndexError), shape(nested.subgroup(lambda e: "b" in str(e))))

try:
    try:
        raise nested
    except* ValueError:
        raise RuntimeError("while handling")
    except* KeyError as group:
        print("key errors:", shape(group))
except ExceptionGroup as exc:
    print("left over:", shape(exc), repr(exc.message))
try:
    try:
        raise ValueError("bare")
    except* ValueError as group:
        print("wrapped:", shape(group), str(group))
        raise
except ExceptionGroup as exc: print("re-raised:", shape(exc))
print(type(BaseExceptionGroup("x", [ValueError()])).__name__, type(BaseExceptionGroup("x", [KeyboardInterrupt()])).__name__)
