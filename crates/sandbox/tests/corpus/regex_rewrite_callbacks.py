"""Regex substitution: callbacks, lookarounds, backreferences, possessive groups."""
import re

# camelCase to snake_case and back.
def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def camel(name):
    return re.sub(r"_([a-z0-9])", lambda m: m[1].upper(), name)


for name in ("parseHTTPResponse", "userID", "already_snake", "v2Beta1API"):
    print(f"{name:<18}{snake(name):<22}{camel(snake(name))}")

# Mask secrets but keep the shape; each callback sees its own match object.
text = "card 4111-1111-1111-1234, ssn 078-05-1120, mail jo.doe@example.com"
RULES = {
    r"\b(?:\d{4}-){3}(\d{4})\b": lambda m: "*" * (m.end() - m.start() - 4) + m[1],
    r"\b\d{3}-\d{2}-(\d{4})\b": r"###-##-\1",
    r"\b([\w.])[\w.]*@(\w+)": r"\g<1>***@\2",
}
for pattern, replacement in RULES.items():
    text, count = re.subn(pattern, replacement, text)
    print(count, text)

# Doubled words across a line break, case-insensitively, with a named backreference.
prose = "It was the the best\nof times, Of times; it is is."
print(re.findall(r"\b(?P<word>\w+)\s+(?P=word)\b", prose, re.I))
print(repr(re.sub(r"\b(\w+)(\W+)\1\b", r"\1", prose, flags=re.I)))

# Thousands separators by lookahead, and only in the integer part.
print([re.sub(r"(?<![.\d])\d+", lambda m: f"{int(m[0]):,}", n) for n in ("1234567.8912", "12", "-98765")])
print(re.sub(r"(?<=\d)(?=(?:\d{3})+$)", " ", "1234567890"))

# split keeps captured separators; empty matches count too.
print(re.split(r"(,|;)\s*", "a, b;c,d"), re.split(r"(?=[A-Z])", "oneTwoThree"), re.split(r"x*", "axbc"))
print(re.sub("x*", "-", "abxd"), re.findall(r"\d*", "a12"), [m.span() for m in re.finditer(r"\b", "hi yo")])

# Conditionals, optional groups that did not take part, last group wins in a loop.
quoted = re.compile(r"(\")?(\w+)(?(1)\"|$)")
print([bool(quoted.fullmatch(s)) for s in ('"ok"', "ok", '"bad', 'bad"')])
m = re.match(r"(?:(\w)-)*(\w)?(z)?", "a-b-c")
print(m.groups(), m.group(0), m.lastindex, m.start(3), m.expand(r"<\1|\3>"))
print(re.fullmatch(r"(?>a+)ab", "aaab"), re.fullmatch(r"a++b", "aaab")[0], re.fullmatch(r"(?s:.)(?i:B)c", "\nbc") is not None)
print(re.escape("a.b*c-d e"), re.compile("caf\\w", re.A).match("caf\u00e9"), ascii(re.match("caf\\w", "caf\u00e9")[0]))
try:
    re.compile("(unclosed")
except re.error as exc:
    print("pattern error at", exc.pos, exc.lineno, exc.colno)
