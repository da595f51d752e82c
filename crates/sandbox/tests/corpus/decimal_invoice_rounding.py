"""Invoice arithmetic in Decimal: rounding modes, allocation, contexts, signals."""
import decimal
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal as D, localcontext

CENT = D("0.01")
LINES = [("Consulting", D("7.5"), D("133.335")), ("Hosting", D(1), D("19.99")), ("Discount", D(1), D("-50"))]

subtotal = D(0)
for label, qty, price in LINES:
    amount = (qty * price).quantize(CENT, ROUND_HALF_UP)
    subtotal += amount
    print(f"{label:<12}{qty:>5} x {price:>9} = {amount:>10,}")
tax = (subtotal * D("0.0825")).quantize(CENT, ROUND_HALF_EVEN)
print(f"{'Total':<12}{subtotal + tax:>29,.2f}   tax {tax}")


def allocate(amount, ratios):
    """Split to the cent with nothing lost: largest remainders get the spare cents."""
    whole = sum(ratios)
    exact = [amount * r / whole for r in ratios]
    floor = [e.quantize(CENT, ROUND_DOWN) for e in exact]
    spare = int((amount - sum(floor)) / CENT)
    for i in sorted(range(len(ratios)), key=lambda i: floor[i] - exact[i])[:spare]:
        floor[i] += CENT
    return floor


shares = allocate(D("100.00"), [D(1), D(1), D(1)])
print(*shares, "sum", sum(shares), "|", *allocate(D("0.05"), [D(70), D(20), D(10)]))

values = [D("2.5"), D("-2.5"), D("2.51"), D("3.5")]
for mode in ("ROUND_HALF_EVEN", "ROUND_HALF_UP", "ROUND_HALF_DOWN", "ROUND_CEILING", "ROUND_FLOOR", "ROUND_UP", "ROUND_05UP"):
    print(f"{mode:<16}", *(v.quantize(D(1), rounding=getattr(decimal, mode)) for v in values))

print(D("0.1") + D("0.2") == D("0.3"), D(0.1) == D("0.1"), D("1.10") == D("1.1"), str(D("1.10") * 2), D(0.125))
print(D("1E+3").normalize(), D("1000").normalize(), format(D("1E+3"), "f"), D("120").adjusted(), D("-0"), D("1E-9"))
print(-7 % 3, D(-7) % 3, D(-7) // 3, divmod(D("7.5"), 2), D("Infinity") > 10**50, hash(D("1.0")) == hash(1))

with localcontext() as ctx:
    ctx.prec = 6
    print(D(1) / 7, +D("123456.789"), D("2").sqrt(), D(2) ** D("0.5"), D(1).exp())
    ctx.traps[decimal.Inexact] = True
    try:
        D(1) / 3
    except decimal.Inexact:
        print("inexact refused, flags:", ctx.flags[decimal.Rounded], decimal.getcontext().prec)
print(D(1) / 7, decimal.getcontext().prec)
for bad in (lambda: D("1,000"), lambda: D(1) / 0, lambda: D("1e30").quantize(CENT), lambda: D("NaN") < 1, lambda: D(1) + 1.0):
    try:
        bad()
    except (decimal.DecimalException, TypeError) as exc:
        print(type(exc).__name__, isinstance(exc, ArithmeticError), end="; ")
print()
