"""Gauss-Jordan over Fractions: determinant, rank, inverse and matrix powers."""
from fractions import Fraction
from operator import mul


class Matrix:
    def __init__(self, rows):
        self.rows = [[Fraction(v) for v in row] for row in rows]
        if len({len(r) for r in self.rows}) != 1:
            raise ValueError("ragged rows")

    @classmethod
    def identity(cls, n):
        return cls([[i == j for j in range(n)] for i in range(n)])

    def __matmul__(self, other):
        columns = list(zip(*other.rows))
        return Matrix([[sum(map(mul, row, col)) for col in columns] for row in self.rows])

    def __pow__(self, n):
        result, base, n = Matrix.identity(len(self.rows)), self if n >= 0 else self.inverse(), abs(n)
        while n:
            if n & 1:
                result @= base
            base @= base
            n >>= 1
        return result

    def __str__(self):
        cells = [[str(v) for v in row] for row in self.rows]
        widths = [max(map(len, col)) for col in zip(*cells)]
        return "\n".join("[" + "  ".join(c.rjust(w) for c, w in zip(row, widths)) + "]" for row in cells)

    def reduce(self):
        """(row-reduced copy, pivot columns, product of the pivots with sign)."""
        a, pivots, factor = [row[:] for row in self.rows], [], Fraction(1)
        for c in range(len(a[0])):
            r = len(pivots)
            pick = next((i for i in range(r, len(a)) if a[i][c]), None)
            if pick is None:
                continue
            factor *= a[pick][c] * (1 if pick == r else -1)
            a[r], a[pick] = a[pick], a[r]
            a[r] = [v / a[r][c] for v in a[r]]
            a = [row if i == r else [x - row[c] * y for x, y in zip(row, a[r])] for i, row in enumerate(a)]
            pivots.append(c)
        return a, pivots, factor

    def inverse(self):
        n = len(self.rows)
        reduced, pivots, _ = Matrix([r + e for r, e in zip(self.rows, Matrix.identity(n).rows)]).reduce()
        if pivots != list(range(n)):
            raise ArithmeticError("singular matrix")
        return Matrix([row[n:] for row in reduced])


hilbert = Matrix([[Fraction(1, i + j + 1) for j in range(4)] for i in range(4)])
print(hilbert.inverse(), "det =", hilbert.reduce()[2])
print((hilbert @ hilbert.inverse()).rows == Matrix.identity(4).rows)
print("fib(90):", (Matrix([[1, 1], [1, 0]]) ** 90).rows[0][1], "back:", (Matrix([[1, 1], [1, 0]]) ** -3).rows[0])
print(Matrix([[0, "1/2"], ["-3.5", 0.25]]).inverse())
flat = Matrix([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
print("rank", len(flat.reduce()[1]), [list(map(str, r)) for r in flat.reduce()[0]])
for attempt in (flat.inverse, lambda: Matrix([[1], [1, 2]])):
    try:
        attempt()
    except (ArithmeticError, ValueError) as exc:
        print(type(exc).__name__, exc)
