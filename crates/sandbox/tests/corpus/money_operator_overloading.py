"""A Money type: arithmetic protocols, reflected operators, hashing, formatting."""
from functools import total_ordering
from numbers import Real


@total_ordering
class Money:
    __slots__ = ("cents", "currency")

    def __init__(self, amount, currency="EUR", *, cents=None):
        self.cents = round(amount * 100) if cents is None else cents
        self.currency = currency

    def _new(self, cents): return type(self)(0, self.currency, cents=cents)

    def _same(self, other):
        if self.currency != other.currency:
            raise ValueError(f"{self.currency} and {other.currency} do not mix")

    def __add__(self, other):
        if not isinstance(other, Money):
            return self if other == 0 else NotImplemented  # 0 lets sum() start
        self._same(other)
        return self._new(self.cents + other.cents)

    __radd__ = __add__

    def __neg__(self): return self._new(-self.cents)
    def __sub__(self, other): return self + -other

    def __mul__(self, factor):
        return self._new(round(self.cents * factor)) if isinstance(factor, Real) else NotImplemented

    __rmul__ = __mul__

    def __divmod__(self, parts):
        share, rest = divmod(self.cents, parts)
        return [self._new(share + (i < rest)) for i in range(parts)], self._new(rest)

    def __eq__(self, other):
        return (self.cents, self.currency) == (other.cents, other.currency) if isinstance(other, Money) else NotImplemented

    def __lt__(self, other):
        self._same(other)
        return self.cents < other.cents

    def __hash__(self): return hash((self.cents, self.currency))
    def __bool__(self): return self.cents != 0

    def __format__(self, spec):
        sign, whole = "-" * (self.cents < 0), abs(self.cents)
        return format(f"{sign}{self.currency} {whole // 100:,}.{whole % 100:02}", spec)

    __str__ = __repr__ = lambda self: format(self, "")


prices = [Money(19.99), Money(5), Money(0.01), Money(-1234.5)]
total = sum(prices)
print(total, -total, total - Money(1), f"[{total:>16}]", sorted(prices), max(prices) >= Money(19.99))
print(3 * Money(0.1), Money(10) * 1.155, Money(1.005), Money(10) == 10, len({Money(5), Money(5.0), Money(5, "USD")}))
print(divmod(Money(10), 3), bool(Money(0.004)), [bool(m) for m in (Money(0), Money(1))], Money(1) != Money(1, "USD"))
wallet = owed = Money(7)
wallet += Money(3)  # no __iadd__: rebinds, the other name keeps its value
print(wallet, owed)
for attempt in (lambda: Money(1) + 1, lambda: Money(1) * "x", lambda: Money(1) < Money(1, "USD"), lambda: setattr(wallet, "note", 1)):
    try:
        attempt()
    except (TypeError, ValueError, AttributeError) as exc:
        print(type(exc).__name__, end=" ")
print()
