"""Flags, aliases, custom enum values, members with behaviour, lookups."""
from enum import Enum, Flag, IntEnum, IntFlag, StrEnum, auto, nonmember, unique


class Perm(Flag):
    READ = auto()
    WRITE = auto()
    EXEC = auto()
    ADMIN = READ | WRITE | EXEC
    NONE = 0


ROLES = {"viewer": Perm.READ, "editor": Perm.READ | Perm.WRITE, "root": Perm.ADMIN, "guest": Perm.NONE}
for role, perms in ROLES.items():
    names = "+".join(p.name for p in perms) or "-"
    print(f"{role:<7}{perms.value:>2} {names:<16}write={Perm.WRITE in perms} any={bool(perms)} missing={(~perms).value}")
print(Perm.ADMIN & ~Perm.WRITE, (Perm.READ ^ Perm.ADMIN).value, len(Perm.ADMIN), [p.name for p in Perm])
print(Perm(3) is ROLES["editor"], Perm["ADMIN"] is Perm.READ | Perm.WRITE | Perm.EXEC)


class Planet(Enum):
    EARTH = (5.976e24, 6.37814e6)
    MARS = (6.421e23, 3.3972e6)
    TERRA = EARTH

    def __init__(self, mass, radius):
        self.mass = mass
        self.radius = radius

    @property
    def gravity(self):
        return 6.6743e-11 * self.mass / self.radius ** 2


print([f"{p.name} {p.gravity:.2f}" for p in Planet], list(Planet.__members__), Planet.TERRA.name, Planet.TERRA is Planet.EARTH)


class Status(StrEnum):
    OPEN = auto()
    IN_PROGRESS = "in progress"
    DONE = auto()
    default_limit = nonmember(25)

    @classmethod
    def _missing_(cls, value):
        if isinstance(value, str):
            cleaned = value.strip().lower().replace("_", " ")
            return next((m for m in cls if m.value == cleaned), None)
        return None

    @property
    def next(self):
        members = list(type(self))
        return members[min(members.index(self) + 1, len(members) - 1)]


print(Status(" OPEN "), Status("In_Progress").next.upper(), Status.DONE == "done", f"{Status.OPEN:>6}", repr(Status.OPEN))
print(sorted([Status.OPEN, Status.DONE, Status.IN_PROGRESS]), {Status.DONE: 1}["done"], Status.default_limit)
try:
    Status("lost")
except ValueError as exc:
    print(exc)

Weekday = IntEnum("Weekday", "MON TUE WED", start=1)
Mode = IntFlag("Mode", {"R": 4, "W": 2, "X": 1})
print(Weekday.TUE + 1 == Weekday.WED, Weekday(2) < 3, int(Mode.R | Mode.X), Mode(6).name, type(Mode.R | 8).__name__)
try:
    unique(Enum("Dup", {"A": 1, "B": 1}))
except ValueError as exc:
    print(type(exc).__name__, "on aliases:", "B -> A" in str(exc))
