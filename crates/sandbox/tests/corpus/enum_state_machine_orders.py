"""An order state machine: transitions as data, guards, hooks and an audit log."""
from __future__ import annotations

from enum import Enum
from typing import Callable


class State(Enum):
    CART = "cart"
    PLACED = "placed"
    PAID = "paid"
    SHIPPED = "shipped"
    CANCELLED = "cancelled"

    @property
    def final(self) -> bool:
        return self in {State.SHIPPED, State.CANCELLED}


class TransitionError(Exception): ...


class Order:
    table: dict[tuple[State, str], tuple[State, Callable[[Order], bool]]] = {}

    def __init__(self, number: int, items: int = 0, paid: int = 0):
        self.number, self.items, self.paid = number, items, paid
        self.state = State.CART
        self.log: list[str] = []

    @classmethod
    def rule(cls, event: str, source: State, target: State):
        return lambda guard: cls.table.update({(source, event): (target, guard)}) or guard

    def fire(self, event: str) -> Order:
        try:
            target, guard = self.table[self.state, event]
        except KeyError:
            raise TransitionError(f"{event!r} not possible when {self.state.value}") from None
        if not guard(self):
            raise TransitionError(f"guard {guard.__name__} refused {event!r}")
        self.log.append(f"{self.state.value}->{target.value}")
        self.state = target
        return self

@Order.rule("place", State.CART, State.PLACED)
def has_items(order): return order.items > 0

@Order.rule("pay", State.PLACED, State.PAID)
def covers_price(order): return order.paid >= order.items * 10

@Order.rule("cancel", State.CART, State.CANCELLED)
@Order.rule("cancel", State.PLACED, State.CANCELLED)
@Order.rule("ship", State.PAID, State.SHIPPED)
def always(order): return True


scripts = {Order(1, 2, 20): "place pay ship", Order(2): "place cancel ship", Order(3, 3, 29): "place pay cancel place"}
for order, script in scripts.items():
    errors = []
    for event in script.split():
        try:
            order.fire(event)
        except TransitionError as exc:
            errors.append(f"{exc} (cause {exc.__cause__}, hidden {exc.__suppress_context__})")
    print(f"order {order.number}: {' '.join(order.log)} | {order.state.name} final={order.state.final}")
    for line in errors:
        print("   ", line)
print({f"{s.value}/{e}": t.value for (s, e), (t, _) in Order.table.items()})
