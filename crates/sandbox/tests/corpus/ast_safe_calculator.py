"""ast: a whitelisted evaluator, a code inventory, and a source transformer."""
import ast
import operator

BINARY = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
          ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow}
UNARY = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_}
COMPARE = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Eq: operator.eq, ast.In: lambda a, b: a in b}


class SafeEval(ast.NodeVisitor):
    def __init__(self, **names):
        self.names = names

    def run(self, source):
        return self.visit(ast.parse(source, mode="eval").body)

    def generic_visit(self, node):
        raise ValueError(f"{type(node).__name__} is not allowed")

    def visit_Constant(self, node): return node.value
    def visit_Name(self, node): return self.names[node.id]
    def visit_Tuple(self, node): return tuple(map(self.visit, node.elts))
    def visit_BinOp(self, node): return BINARY[type(node.op)](self.visit(node.left), self.visit(node.right))
    def visit_UnaryOp(self, node): return UNARY[type(node.op)](self.visit(node.operand))
    def visit_IfExp(self, node): return self.visit(node.body if self.visit(node.test) else node.orelse)

    def visit_Compare(self, node):
        values = [self.visit(v) for v in (node.left, *node.comparators)]
        return all(COMPARE[type(op)](a, b) for op, a, b in zip(node.ops, values, values[1:]))


calc = SafeEval(x=7, rate=0.25)
for source in ("2 + 3 * -x", "1 < x < 10 < 5", "2 ** 3 ** 2 % 7", "(1, x // 2, 'a' * 3)", "x if x in (7, 8) else y",
               "__import__('os')", "x.real", "[n for n in ()]", "x @ 2", "y"):
    try:
        print(f"{source:<26}{calc.run(source)!r}")
    except (ValueError, KeyError) as exc:
        print(f"{source:<26}{type(exc).__name__}: {exc if isinstance(exc, ValueError) else '-'}")

CODE = '''
import os, json as j
from math import pi
class Greeter:
    """Says hello."""
    limit: int = 3
    def hello(self, name, *rest, loud=False, **kw) -> str:
        return f"hi {name}"
async def fetch(url, /, timeout=1): ...
total = sum(n * n for n in range(4)) + pi * 0
'''
tree = ast.parse(CODE)
for node in ast.walk(tree):
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        a = node.args
        print(type(node).__name__, node.name, node.lineno, [x.arg for x in a.posonlyargs + a.args], [x.arg for x in a.kwonlyargs], ast.unparse(a))
print([alias.asname or alias.name for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom)) for alias in n.names], ast.get_docstring(tree.body[2]))


class Doubler(ast.NodeTransformer):
    def visit_Constant(self, node):
        return ast.copy_location(ast.Constant(node.value * 2), node) if type(node.value) is int else node


scope = {}
exec(compile(ast.fix_missing_locations(Doubler().visit(ast.parse(CODE))), "<corpus>", "exec"), scope)
print(scope["total"], scope["Greeter"].limit, scope["Greeter"]().hello("x"), ast.literal_eval("{'a': [1, -2.5, None], 'b': (True,)}"))
