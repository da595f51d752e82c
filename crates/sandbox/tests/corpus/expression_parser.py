"""A tokenizer and a Pratt parser: precedence, right associativity, errors."""
import operator
import re
from typing import NamedTuple


class Token(NamedTuple):
    kind: str
    text: str
    at: int


SPEC = {"num": r"\d+(?:\.\d*)?|\.\d+", "name": r"[A-Za-z_]\w*",
        "op": r"\*\*|//|<=|[-+*/%(),<]", "skip": r"\s+", "bad": "."}
MASTER = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in SPEC.items()))
INFIX = {"<": (1, operator.lt), "<=": (1, operator.le), "+": (2, operator.add), "-": (2, operator.sub),
         "*": (3, operator.mul), "/": (3, operator.truediv), "//": (3, operator.floordiv),
         "%": (3, operator.mod), "**": (5, operator.pow)}
FUNCS = {"max": max, "abs": abs, "sqrt": lambda x: x ** 0.5}


def tokens(source):
    for m in MASTER.finditer(source):
        if m.lastgroup == "bad":
            raise SyntaxError(f"unexpected {m[0]!r} at {m.start()}")
        if m.lastgroup != "skip":
            yield Token(m.lastgroup, m[0], m.start())
    yield Token("end", "", m.end())


class Parser:
    def __init__(self, source, names):
        self.stream, self.names = tokens(source), names
        self.now = next(self.stream)

    def take(self, expected=None):
        token, self.now = self.now, next(self.stream, self.now)
        if expected and token.text != expected:
            raise SyntaxError(f"expected {expected} at {token.at}, got {token.text or 'end'}")
        return token

    def expression(self, floor=0):
        left = self.prefix()
        while self.now.text in INFIX and INFIX[self.now.text][0] > floor:
            power, apply = INFIX[self.take().text]
            left = apply(left, self.expression(power - (apply is operator.pow)))
        return left

    def prefix(self):
        match token := self.take():
            case Token("num", text):
                return float(text) if "." in text else int(text)
            case Token("name", text) if self.now.text == "(":
                args = []
                while self.take().text in "(,":
                    args.append(self.expression())
                return FUNCS[text](*args)
            case Token("name", text): return self.names[text]
            case Token("op", "-"): return -self.expression(4)
            case Token("op", "("):
                return (self.expression(), self.take(")"))[0]
        raise SyntaxError(f"unexpected {token.text or 'end'} at {token.at}")


for source in ("1 + 2 * 3", "-2 ** 2", "2 ** 3 ** 2", "2 ** -1", "(1+2)*-3", "7 // 2 - 7 % 4 / .5", "10 - 4 - 3",
               "x * x < 50", "max(1, abs(-y), sqrt(x + 2.)) * 2", "1 +", "(1", "3 $ 4", "nope", "* 2"):
    try:
        print(f"{source:<34}= {Parser(source, {'x': 7, 'y': 4}).expression()!r}")
    except (SyntaxError, KeyError) as error:
        print(f"{source:<34}! {type(error).__name__}: {error}")
